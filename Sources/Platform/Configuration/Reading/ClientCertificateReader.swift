internal import Primitives

extension CredentialSettings {
  /// The certificate that TLS shows an upstream that asks who we are: names and paths, no secret.
  package struct ClientCertificate: Sendable, Equatable {
    /// Absolute: PEM, the own one first.
    package let file: String
    /// A file, or one of systemd's.
    package let key: Source

    /// Tells two of them apart.
    package var identifier: String { "\(file)\n\(key.short)" }
  }
}

/// The finding in the two files of a client certificate.
package enum ClientCertificateLook: Sendable {
  /// Valid from when until when, in seconds since 1970.
  case good(begins: Int64, ends: Int64, isForClients: Bool)
  /// Why they cannot be used: sentences.
  case badCertificate(String), badKey(String)
  /// Why the key cannot be read now.
  case unreadKey(String)
}

/// `client_certificate` as it was read, with the places of its parts.
struct ClientCertificateDraft {
  let settings: CredentialSettings.ClientCertificate
  let filePlace: TextLocation
  let keyPlace: TextLocation
}

/// `client_certificate` of a credential (RFC 8446 section 4.4.2).
extension SettingsReader {
  func clientCertificate(_ node: YAMLNode, at place: TextLocation) -> ClientCertificateDraft? {
    guard let fields = fields(node, at: place, of: ClientCertificateKey.self) else { return nil }
    var file: String?
    if let node = fields[.certificate] {
      file = path(node, "the path of a PEM file")
      if let file, environment.files.status(file) == nil {
        report.warning(
          node.place, "\(file) not found: requests with this credential get 503",
          help: "put the certificate there, followed by its intermediate certificates, and reload")
      } else if let file {
        checkCertificates(file, at: node.place)
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
    let use = SecretUse(role: .value, origins: [])
    guard let key = source(keyNode, at: fields.place(of: .privateKey), for: use), let file else { return nil }
    switch key {
    case .file, .systemd: break
    case .env, .command, .userOfCommand, .token, .login:
      report.error(
        keyNode.place, "the private key must come from a file or from systemd",
        help: "write private_key: { file: NAME.key }")
      return nil
    }
    return ClientCertificateDraft(
      settings: CredentialSettings.ClientCertificate(file: file, key: key),
      filePlace: fields[.certificate]?.place ?? fields.place, keyPlace: keyNode.place)
  }

  /// Once everything else is known to be right: whether the two belong together, and for how long.
  func checkClientCertificates(_ credentials: [CredentialDraft]) {
    for draft in credentials.compactMap(\.certificate) {
      guard environment.files.status(draft.settings.file) != nil else { continue }
      if case .file(let key) = draft.settings.key {
        guard environment.files.answering([key]).contains(key), environment.files.status(key) != nil else { continue }
      }
      switch environment.clientCertificate(draft.settings) {
      case .badCertificate(let sentence): report.error(draft.filePlace, sentence)
      case .badKey(let sentence): report.error(draft.keyPlace, sentence)
      case .unreadKey(let sentence):
        report.warning(
          draft.keyPlace, "\(sentence): requests with this credential get 503",
          help: "put the private key there, and reload")
      case .good(let begins, let ends, let isForClients):
        if !isForClients {
          report.warning(
            draft.filePlace,
            "upstreams will refuse this certificate: it is not for TLS clients (RFC 5280 section 4.2.1.12)"
          )
        }
        check(from: begins, to: ends, at: draft.filePlace)
      }
    }
  }

  private func check(from begins: Int64, to ends: Int64, at place: TextLocation) {
    let day: Int64 = 86_400
    if ends <= environment.now {
      report.error(
        place, "this certificate expired on \(CivilTime.day(of: ends))", help: "put the renewed certificate there")
    } else if begins > environment.now {
      report.error(place, "this certificate is not valid before \(CivilTime.day(of: begins))")
    } else if ends &- environment.now < 30 &* day {
      let days = (ends &- environment.now) / day
      let time = days == 0 ? "within a day" : days == 1 ? "in 1 day" : "in \(days) days"
      report.warning(
        place, "this certificate expires \(time). After that, requests with this credential get 503",
        help: "put the renewed certificate there, and reload")
    }
  }
}
