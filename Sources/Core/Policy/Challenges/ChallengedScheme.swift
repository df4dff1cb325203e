package import HTTP1

/// The scheme of a credential that does not go out before an upstream has asked for it (RFC 9110 section 11).
package enum ChallengedScheme: String, Sendable {
  case basic = "Basic"
  case bearer = "Bearer"

  private var name: String {
    switch self {
    case .basic: "basic"
    case .bearer: "bearer"
    }
  }

  /// Whether the answer challenges for it, beside whatever else. False as well if one of its challenges cannot be read: then it
  /// is unknown what it asks for.
  package func isWanted(by head: ResponseHead) -> Bool {
    let bytes = head.bytes.span
    guard let challenges = Challenge.all(in: head) else { return false }
    return challenges.contains { $0.token68 == nil && FieldName.matches($0.scheme, of: bytes, name) }
  }
}
