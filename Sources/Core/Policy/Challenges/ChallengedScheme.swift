package import HTTP1

/// The scheme of a credential that bearerd sends only after the upstream asks for it (RFC 9110 section 11).
package enum ChallengedScheme: String, Sendable {
  case basic = "Basic"
  case bearer = "Bearer"

  /// Whether the response asks for a credential of this scheme. `false` if a challenge cannot be parsed.
  /// - Parameter realm: the realm that the challenge must have (RFC 9110 section 11.5); `nil` for any or none.
  package func isRequested(by head: ResponseHead, realm: [UInt8]? = nil) -> Bool {
    let bytes = head.bytes.span
    let name = rawValue.lowercased()
    guard let challenges = Challenge.all(in: head) else { return false }
    return challenges.contains { challenge in
      challenge.token68 == nil && FieldName.matches(challenge.scheme, of: bytes, name)
        && (realm == nil || challenge.value(of: "realm", in: bytes) == realm)
    }
  }
}
