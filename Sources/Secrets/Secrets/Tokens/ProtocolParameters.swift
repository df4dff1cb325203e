/// Names that the protocol sets by itself: a configuration that could set them too could change what is asked for, or send a
/// secret of its own making.
package enum ProtocolParameters {
  /// Form fields that the protocol sets: RFC 6749, 7523, 7636, 8628, 8693 and 8707, and what an access or id token is called.
  package static let names: Set<String> = [
    "grant_type", "client_id", "client_secret", "client_assertion", "client_assertion_type", "assertion", "scope",
    "resource", "audience", "refresh_token", "access_token", "id_token", "token", "token_type_hint", "username",
    "password",
    "code", "code_verifier", "code_challenge", "code_challenge_method", "redirect_uri", "response_type",
    "response_mode",
    "state", "nonce", "request", "request_uri", "device_code", "user_code", "subject_token", "subject_token_type",
    "actor_token", "actor_token_type", "requested_token_type",
  ]

  /// Claims of a JWT that the protocol sets (RFC 7519 section 4.1).
  package static let claims: Set<String> = ["iss", "sub", "aud", "exp", "nbf", "iat", "jti"]

  /// Why a further form field cannot have this name: the end of a sentence that begins with it; nil: it can.
  package static func problem(ofParameter name: String) -> String? { problem(name, names) }

  /// Why a further claim of a JWT cannot have this name: the end of a sentence that begins with it; nil: it can.
  package static func problem(ofClaim name: String) -> String? { problem(name, claims) }

  /// In any case of the letters: some servers do not look at it.
  private static func problem(_ name: String, _ taken: Set<String>) -> String? {
    if name.isEmpty { return "must have a name" }
    if !name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) { return "must have only visible ASCII characters" }
    if taken.contains(name.lowercased()) { return "is set by the protocol itself" }
    return nil
  }
}
