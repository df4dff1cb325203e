internal import Policy
import Primitives
internal import Settings

/// Reads `oauth1` of a credential (RFC 5849).
struct OAuth1Reader: SectionReader {
  let context: ReadingContext
  let origins: [Origin]

  func scheme(_ credential: Fields<CredentialKey>) -> AuthScheme? {
    guard let fields = section(.oauth1, of: credential, as: OAuth1Key.self) else { return nil }
    let errors = report.errorCount
    for key in [OAuth1Key.consumerKey, .consumerSecret] where !fields.has(key) && !fields.isMisspelled(key) {
      report.error(
        fields.location, "\"oauth1\" needs \"\(key.rawValue)\"", help: "add \(key.rawValue): { file: NAME }")
    }
    checkTogether(.token, .tokenSecret, in: fields, " (RFC 5849 section 1.1)")
    let key = value(.consumerKey, of: fields, "the consumer key, or { file: NAME }", for: .value, to: origins)
    let consumerSecret = source(.consumerSecret, of: fields, for: .value, to: origins)
    let token = source(.token, of: fields, for: .value, to: origins)
    let tokenSecret = source(.tokenSecret, of: fields, for: .value, to: origins)
    let signature = fields[.signature].flatMap {
      choice($0, OAuth1Client.Method.allCases.map { (ASCII.lowercased($0.rawValue), $0) })
    }
    let realm = fields[.realm].flatMap { self.realm($0) }
    guard errors == report.errorCount, let key, let consumerSecret else { return nil }
    var client = OAuth1Client(consumerKey: key, consumerSecret: consumerSecret)
    (client.token, client.tokenSecret, client.realm) = (token, tokenSecret, realm)
    client.method = signature ?? .hmacSHA1
    return .oauth1(client)
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
