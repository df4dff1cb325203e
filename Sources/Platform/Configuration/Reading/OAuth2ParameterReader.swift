internal import Policy
import Primitives
internal import Settings

/// Reads the parameters and secrets of requests to a token endpoint.
struct OAuth2ParameterReader: SectionReader {
  let context: ReadingContext
  let fields: Fields<OAuth2Key>
  /// The origin of the token endpoint.
  let origins: [Origin]

  func read(into token: inout TokenSource) {
    token.scope = scope()
    token.resource = texts(.resource, "an absolute URI like https://api.example.com").compactMap {
      text, location in
      // RFC 8707 section 2
      guard text.contains(":"), !text.contains("#"), text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
        return report.error(location, "\(quoted(text)) is not valid: expected an absolute URI without a fragment")
      }
      return text
    }
    token.audience = texts(.audience, "the name of an audience").map(\.text)
    token.parameters = parameters(with: token.grant)
    if let encoding: LoginForm.Encoding = choice(.body, of: fields) { token.encoding = encoding }
  }

  func secret(_ key: OAuth2Key) -> SecretSource? { source(key, of: fields, for: .value, to: origins) }

  /// The private key that signs JWTs, and their `aud`.
  typealias SigningKey = (source: SigningKeySource, audience: String?)

  func signingKey() -> SigningKey {
    let source = secret(.privateKey) ?? .file("")
    let key = SigningKeySource(source, passphrase: secret(.passphrase), identifier: text(.keyID, of: fields))
    return (key, text(.assertionAudience, of: fields))
  }

  private func parameters(with grant: TokenGrantKind) -> [LoginForm.Field] {
    let source = SourceReader(context: context, use: SecretUse(role: .value, origins: origins))
    return named(.parameters, "parameter", ProtocolParameters.names(with: grant)).compactMap {
      source.field($0.name, $0.value, at: $0.location)
    }
  }

  /// Reads additional claims.
  func claims() -> [TokenParameter] {
    named(.claims, "claim", ProtocolParameters.claims).compactMap { entry in
      guard let value = scalar(entry.value, "a value") else { return nil }
      warnIfSecret(value, after: "--" + entry.name, at: entry.value.location)
      return TokenParameter(entry.name, value)
    }
  }

  /// Returns additional parameters or claims, and reports names in `reserved`.
  /// - Parameter kind: `parameter` or `claim`, for messages.
  private func named(_ key: OAuth2Key, _ kind: String, _ reserved: Set<String>) -> [Named] {
    guard let node = fields[key] else { return [] }
    return named(node, "a value").compactMap { entry in
      // Some servers ignore letter case.
      let name = ASCII.lowercased(entry.name)
      guard !reserved.contains(name) else {
        let own = OAuth2Key(rawValue: name).map { "write \"\($0.rawValue)\" next to \"\(key.rawValue)\", not in it" }
        return report.error(
          entry.location,
          "\"\(entry.name)\" is not allowed here: bearerd sets this \(kind) itself",
          help: own ?? "delete the line")
      }
      return entry
    }
  }

  /// Reads scopes, as a list or as one text with spaces (RFC 6749 section 3.3).
  private func scope() -> [String] {
    texts(.scope, "a scope like mail.read").flatMap { text, location in
      let words = text.split(separator: " ", omittingEmptySubsequences: true).map(String.init)
      let isPlain = text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F && $0 != 0x22 && $0 != 0x5C }
      if !isPlain || words.isEmpty {
        report.error(
          location,
          "the scope \(quoted(text)) has a character that is not allowed: expected printable ASCII without \" and \\")
      }
      return words
    }
  }

  /// Reads a list of texts, or one text.
  private func texts(_ key: OAuth2Key, _ wanted: String) -> [(text: String, location: TextLocation)] {
    guard let node = fields[key] else { return [] }
    var nodes = [node]
    switch node.content {
    case .sequence, .mapping: nodes = filledList(node, of: wanted) ?? []
    case .scalar, .refused: break
    }
    return nodes.compactMap { node in text(node, wanted).map { ($0, node.location) } }
  }
}
