/// Form fields and JWT claims that bearerd sets itself. A configuration must not set them.
package enum ProtocolParameters {
  /// Form fields of OAuth 2.0, its extensions such as RFC 7636, 8628 and 8693, and OpenID Connect.
  package static let names: Set<String> = [
    "grant_type", "client_id", "client_secret", "client_assertion", "client_assertion_type", "assertion", "scope",
    "resource", "audience", "refresh_token", "access_token", "id_token", "token", "token_type_hint", "username",
    "password",
    "code", "code_verifier", "code_challenge", "code_challenge_method", "redirect_uri", "response_type",
    "response_mode",
    "state", "nonce", "request", "request_uri", "device_code", "user_code", "subject_token", "subject_token_type",
    "actor_token", "actor_token_type", "requested_token_type",
  ]

  /// The fields of a custom grant that other keys of the configuration set, or the client's authentication.
  package static let namesOfCustomGrant: Set<String> = [
    "grant_type", "client_id", "client_secret", "client_assertion", "client_assertion_type", "scope", "resource",
    "audience",
  ]

  /// Returns the names that additional parameters must not have, in lowercase.
  package static func names(with grant: TokenGrantKind) -> Set<String> {
    if case .custom = grant { namesOfCustomGrant } else { names }
  }

  /// JWT claims that the protocol sets (RFC 7519 section 4.1).
  package static let claims: Set<String> = ["iss", "sub", "aud", "exp", "nbf", "iat", "jti"]

  /// Returns why an additional form field cannot have this name, as the end of a sentence; `nil` if it can.
  package static func problem(
    ofParameter name: String, with grant: TokenGrantKind = .clientCredentials
  ) -> String? {
    // Some servers ignore the case of names.
    if name.isEmpty { return "must have a name" }
    if !name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) { return "must have only visible ASCII characters" }
    if names(with: grant).contains(name.lowercased()) { return "is set by the protocol itself" }
    return nil
  }
}
