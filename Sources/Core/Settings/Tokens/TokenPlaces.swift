/// Where a token endpoint's response has the access token and its lifetime.
package struct TokenPlaces: Sendable, Hashable {
  package static let standard = TokenPlaces()

  /// Path of the access token. `refresh_token` and `token_type` are members of the same object.
  package var token = ["access_token"]
  /// Path of the lifetime in seconds. `nil` if it is the member `expires_in` beside the access token.
  package var expiresIn: [String]?
  /// Path of the time at which the token expires. `nil` if the response has only a lifetime.
  package var expiresAt: [String]?

  /// Returns the path of a member of the object that has the access token.
  package func sibling(_ name: String) -> [String] { token.dropLast() + [name] }
}
