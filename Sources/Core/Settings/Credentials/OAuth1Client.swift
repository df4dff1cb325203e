/// The client that signs requests with OAuth 1.0 (RFC 5849 section 1.1), and its options.
package struct OAuth1Client: Sendable, Equatable {
  package enum Method: String, Sendable, CaseIterable { case hmacSHA1 = "HMAC-SHA1", plaintext = "PLAINTEXT" }

  package var method = Method.hmacSHA1
  package var consumerKey: FieldValue
  package var consumerSecret: SecretSource
  /// The user's token; `nil`, like `tokenSecret`, if there is no user.
  package var token: SecretSource?
  package var tokenSecret: SecretSource?
  /// The realm: visible ASCII without quotation marks and backslashes; `nil` to send none.
  package var realm: String?
  /// Whether to send `oauth_version`, which is optional (RFC 5849 section 3.1).
  package var sendsVersion = true

  package init(consumerKey: FieldValue, consumerSecret: SecretSource) {
    self.consumerKey = consumerKey
    self.consumerSecret = consumerSecret
  }

  package var sources: [SecretSource] {
    consumerKey.sources + [consumerSecret, token, tokenSecret].compactMap(\.self)
  }

  /// The query parameters of a signature (RFC 5849 section 3.1).
  package static let parameterNames = [
    "oauth_consumer_key", "oauth_token", "oauth_signature_method", "oauth_signature", "oauth_timestamp",
    "oauth_nonce", "oauth_version",
  ]
}
