internal import Policy
import Primitives
internal import Settings

/// Reads `oauth1` of a credential (RFC 5849).
struct OAuth1Reader: SectionReader {
  let context: ReadingContext
  let origins: [Origin]
  /// The name of the credential.
  let name: String

  func scheme(_ credential: Fields<CredentialKey>) -> AuthScheme? {
    guard let fields = section(.oauth1, of: credential, as: OAuth1Key.self) else { return nil }
    let errors = report.errorCount
    let method = method(fields)
    checkKeys(fields, method)
    let key = value(.consumerKey, of: fields, "the consumer key, or { file: NAME }", for: .value, to: origins)
    let consumerSecret = source(.consumerSecret, of: fields, for: .value, to: origins)
    let privateKey = source(.privateKey, of: fields, for: .value, to: origins)
    let passphrase = source(.passphrase, of: fields, for: .value, to: origins)
    let token = source(.token, of: fields, for: .value, to: origins)
    let tokenSecret = source(.tokenSecret, of: fields, for: .value, to: origins)
    let realm = fields[.realm].flatMap { self.realm($0) }
    let login = OAuth1LoginReader(context: context, fields: fields)
    let endpoints = login.endpoints()
    guard errors == report.errorCount, let key, let method else { return nil }
    var client: OAuth1Client
    if let privateKey {
      client = OAuth1Client(consumerKey: key, privateKey: SigningKeySource(privateKey, passphrase: passphrase))
    } else if let consumerSecret {
      client = OAuth1Client(consumerKey: key, consumerSecret: consumerSecret)
    } else {
      return nil
    }
    (client.method, client.realm) = (method, realm)
    if let endpoints {
      client.token = login.token(for: client, at: endpoints, name: name).map { .token($0) }
      guard errors == report.errorCount else { return nil }
    } else {
      (client.token, client.tokenSecret) = (token, tokenSecret)
    }
    return .oauth1(client)
  }

  /// Reads `signature`. Returns `nil` after an error.
  private func method(_ fields: Fields<OAuth1Key>) -> OAuth1Client.Method? {
    guard let node = fields[.signature] else { return .hmacSHA1 }
    return choice(node, OAuth1Client.Method.allCases.map { (ASCII.lowercased($0.rawValue), $0) })
  }

  /// Reports missing keys, and keys that the method does not use.
  private func checkKeys(_ fields: Fields<OAuth1Key>, _ method: OAuth1Client.Method?) {
    func need(_ key: OAuth1Key, _ what: String) {
      guard !fields.has(key), !fields.isMisspelled(key) else { return }
      report.error(fields.location, "\(what) needs \"\(key.rawValue)\"", help: "add \(key.rawValue): { file: NAME }")
    }
    need(.consumerKey, "\"oauth1\"")
    switch method {
    case .rsaSHA1:
      need(.privateKey, "signature: rsa-sha1")
      for key in [OAuth1Key.consumerSecret, .tokenSecret] where fields.has(key) {
        report.error(
          fields.location(of: key),
          "\"\(key.rawValue)\" has no use with signature: rsa-sha1, because only the private key signs (RFC 5849 section 3.4.3)",
          help: "delete the line")
      }
    case .hmacSHA1, .hmacSHA256, .plaintext:
      need(.consumerSecret, "\"oauth1\"")
      checkTogether(.token, .tokenSecret, in: fields, " (RFC 5849 section 1.1)")
      for key in [OAuth1Key.privateKey, .passphrase] where fields.has(key) {
        report.error(
          fields.location(of: key), "\"\(key.rawValue)\" is allowed only with signature: rsa-sha1",
          help: "delete the line, or write signature: rsa-sha1")
      }
    case nil: break
    }
  }

  /// Reads a realm without characters that need an escape (RFC 9110 section 5.6.4).
  private func realm(_ node: YAMLNode) -> String? {
    guard let text = text(node, "the name of a realm") else { return nil }
    guard text.utf8.allSatisfy({ (0x20...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }) else {
      return report.error(
        node.location, "the realm has a character that is not allowed: expected printable ASCII without \" and \\")
    }
    return text
  }
}
