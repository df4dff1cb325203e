internal import Settings

package enum ClientCertificateStatus: Sendable {
  /// Valid from `begins` until `ends`, in seconds since 1970. `isForClients` is `false` if TLS clients must not use it.
  case good(begins: Int64, ends: Int64, isForClients: Bool)
  /// Why the certificate or the key cannot be used, as a sentence.
  case badCertificate(String), badKey(String)
  /// Why the key cannot be read, as a sentence. This is only a warning.
  case unreadKey(String)
}

struct ClientCertificateDraft {
  let settings: CredentialSettings.ClientCertificate
  let fileLocation: TextLocation
  let keyLocation: TextLocation
}

/// Reads `client_certificate` of a credential (RFC 8446 section 4.4.2).
struct ClientCertificateReader: SectionReader {
  let context: ReadingContext

  func certificate(_ credential: Fields<CredentialKey>) -> ClientCertificateDraft? {
    guard let fields = section(.clientCertificate, of: credential, as: ClientCertificateKey.self) else { return nil }
    var file: String?
    if let node = required(
      .certificate, of: fields, "\"client_certificate\" has no certificate", help: "add certificate: NAME.pem")
    {
      file = path(node, "the path of a PEM file")
      if let file, environment.files.status(file) == nil {
        report.warning(
          node.location, "\(file) not found: requests with this credential get 503",
          help: "put the certificate there, followed by its intermediate certificates, and reload")
      } else if let file {
        FileChecks(context: context).checkCertificates(file, at: node.location)
      }
    }
    guard
      let keyNode = required(
        .privateKey, of: fields, "\"client_certificate\" has no private key",
        help: "add private_key: { file: NAME.key }")
    else { return nil }
    let key = stored(.privateKey, of: fields, "the private key must come from a file or from systemd")
    let passphrase = stored(.passphrase, of: fields, "the passphrase must come from a file or from systemd")
    guard let file, let key, passphrase != nil || !fields.has(.passphrase) else { return nil }
    return ClientCertificateDraft(
      settings: CredentialSettings.ClientCertificate(file: file, key: key, passphrase: passphrase),
      fileLocation: fields.valueLocation(of: .certificate), keyLocation: keyNode.location)
  }

  /// Reads a source that is a file or a systemd credential.
  private func stored(
    _ key: ClientCertificateKey, of fields: Fields<ClientCertificateKey>, _ problem: String
  ) -> SecretSource? {
    let source = source(key, of: fields, for: .value, to: [])
    switch source {
    case nil, .file, .systemd: return source
    case .env, .command, .userOfCommand, .token:
      return report.error(fields.valueLocation(of: key), problem, help: "write \(key.rawValue): { file: NAME }")
    }
  }
}
