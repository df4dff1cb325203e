internal import JSON
internal import Primitives

/// The type of a granted token (RFC 6749 section 7.1).
extension TokenResponseReader {
  /// Types that servers use for bearer tokens, instead of `bearer`.
  private static let otherNames = [
    "bearertoken", "token", "bot", "user", "urn:ietf:params:oauth:token-type:access_token",
  ]

  /// Types whose tokens are useless without a key, or in requests (RFC 9449, RFC 8693 section 2.2.1).
  private static let unusable = [("dpop", "DPoP"), ("pop", "PoP"), ("mac", "MAC"), ("n_a", "N_A")]

  /// Throws if the token is not a bearer token. A missing type means bearer.
  func checkType(at path: [String], _ document: borrowing JSONDocument, _ remarks: inout [String]) throws(TokenRefusal)
  {
    if document.isBlank(at: path) { return remarks.append("no token_type (bearerd assumes bearer)") }
    guard document.kind(at: path) == .string else { throw malformed("with a token_type that is not a string") }
    if isType(at: path, "bearer", document) { return }
    if Self.otherNames.contains(where: { isType(at: path, $0, document) }) {
      return remarks.append("a token_type that is not Bearer (bearerd assumes bearer)")
    }
    let type = Self.unusable.first { isType(at: path, $0.0, document) }.map { "a \($0.1) token" }
    throw TokenRefusal(
      .misconfigured,
      "\(name) granted \(type ?? "a token of an unknown type"), which bearerd cannot use: configure bearer tokens there"
    )
  }

  /// Whether the string at a path is the type, without regard to case and to blanks around the string.
  private func isType(at path: [String], _ type: String, _ document: borrowing JSONDocument) -> Bool {
    document.withText(at: path) { text in
      TokenGrant.trimmed(text).elementsEqual(type.utf8) { ASCII.lowercased($0) == $1 }
    } ?? false
  }
}
