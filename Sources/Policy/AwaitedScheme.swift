package import HTTP1

/// The scheme of a credential that does not go out before an upstream has asked for it (RFC 9110 section 11).
package enum AwaitedScheme: String, Sendable {
  case basic = "Basic"
  case bearer = "Bearer"

  private var name: String {
    switch self {
    case .basic: "basic"
    case .bearer: "bearer"
    }
  }

  /// Whether the answer challenges for it, beside whatever else. False as well if one of its challenges cannot be read: nobody knows
  /// what it asks for.
  package func isWanted(by head: ResponseHead) -> Bool {
    let bytes = head.bytes.span
    var isWanted = false
    for field in head.fields {
      guard case .wwwAuthenticate = field.known else { continue }
      guard let challenges = Challenge.read(field.value, of: bytes) else { return false }
      for challenge in challenges where challenge.token68 == nil {
        if FieldName.matches(challenge.scheme, of: bytes, name) { isWanted = true }
      }
    }
    return isWanted
  }
}
