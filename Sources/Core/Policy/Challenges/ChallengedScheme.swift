package import HTTP1

/// The scheme of a credential that bearerd sends only after the upstream asks for it (RFC 9110 section 11).
package enum ChallengedScheme: String, Sendable {
  case basic = "Basic"
  case bearer = "Bearer"

  /// Whether the response asks for a credential of this scheme. `false` if a challenge cannot be parsed.
  package func isRequested(by head: ResponseHead) -> Bool {
    let bytes = head.bytes.span
    let name = rawValue.lowercased()
    guard let challenges = Challenge.all(in: head) else { return false }
    return challenges.contains { $0.token68 == nil && FieldName.matches($0.scheme, of: bytes, name) }
  }
}
