internal import Primitives
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
extension SettingsReader {
  func clientCertificate(_ node: YAMLNode, at location: TextLocation) -> ClientCertificateDraft? {
    guard let fields = fields(node, at: location, of: ClientCertificateKey.self) else { return nil }
    var file: String?
    if let node = fields[.certificate] {
      file = path(node, "the path of a PEM file")
      if let file, environment.files.status(file) == nil {
        report.warning(
          node.location, "\(file) not found: requests with this credential get 503",
          help: "put the certificate there, followed by its intermediate certificates, and reload")
      } else if let file {
        checkCertificates(file, at: node.location)
      }
    } else {
      missing(
        .certificate, in: fields, "\"client_certificate\" has no certificate",
        help: "add certificate: NAME.pem")
    }
    guard let keyNode = fields[.privateKey] else {
      missing(
        .privateKey, in: fields, "\"client_certificate\" has no private key",
        help: "add private_key: { file: NAME.key }"
      )
      return nil
    }
    let key = stored(.privateKey, keyNode, fields, "the private key must come from a file or from systemd")
    var passphrase: SecretSource?
    if let node = fields[.passphrase] {
      passphrase = stored(.passphrase, node, fields, "the passphrase must come from a file or from systemd")
      if passphrase == nil { return nil }
    }
    guard let key, let file else { return nil }
    return ClientCertificateDraft(
      settings: CredentialSettings.ClientCertificate(file: file, key: key, passphrase: passphrase),
      fileLocation: fields[.certificate]?.location ?? fields.location, keyLocation: keyNode.location)
  }

  /// Reads a source that is a file or a systemd credential.
  private func stored(
    _ key: ClientCertificateKey, _ node: YAMLNode, _ fields: Fields<ClientCertificateKey>, _ problem: String
  ) -> SecretSource? {
    let source = source(node, at: fields.location(of: key), for: SecretUse(role: .value, origins: []))
    switch source {
    case nil, .file, .systemd: return source
    case .env, .command, .userOfCommand, .token:
      report.error(node.location, problem, help: "write \(key.rawValue): { file: NAME }")
      return nil
    }
  }

  /// Checks that each certificate matches its key and has not expired.
  func checkClientCertificates(_ credentials: [CredentialDraft]) {
    for draft in credentials.compactMap(\.certificate) {
      guard environment.files.status(draft.settings.file) != nil else { continue }
      // `source` has warned about a missing file.
      let files = [draft.settings.key, draft.settings.passphrase].compactMap { source in
        if case .file(let path) = source { path } else { nil }
      }
      guard files.allSatisfy({ environment.files.responding([$0]).contains($0) && environment.files.status($0) != nil })
      else { continue }
      switch environment.clientCertificate(draft.settings) {
      case .badCertificate(let sentence): report.error(draft.fileLocation, sentence)
      case .badKey(let sentence): report.error(draft.keyLocation, sentence)
      case .unreadKey(let sentence):
        report.warning(
          draft.keyLocation, "\(sentence): requests with this credential get 503",
          help: "put the secret there, and reload")
      case .good(let begins, let ends, let isForClients):
        if !isForClients {
          report.warning(
            draft.fileLocation,
            "upstreams will refuse this certificate: it is not for TLS clients (RFC 5280 section 4.2.1.12)"
          )
        }
        check(from: begins, to: ends, at: draft.fileLocation)
      }
    }
  }

  private func check(from begins: Int64, to ends: Int64, at location: TextLocation) {
    let day: Int64 = 86_400
    if ends <= environment.now {
      report.error(
        location, "this certificate expired on \(CivilTime.day(of: ends))", help: "put the renewed certificate there")
    } else if begins > environment.now {
      report.error(location, "this certificate is not valid before \(CivilTime.day(of: begins))")
    } else if ends &- environment.now < 30 &* day {
      let days = (ends &- environment.now) / day
      let time = days == 0 ? "within a day" : days == 1 ? "in 1 day" : "in \(days) days"
      report.warning(
        location, "this certificate expires \(time). After that, requests with this credential get 503",
        help: "put the renewed certificate there, and reload")
    }
  }
}
