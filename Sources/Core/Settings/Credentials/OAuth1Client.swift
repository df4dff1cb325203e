/// The client that signs requests with OAuth 1.0 (RFC 5849 section 1.1), and its options.
package struct OAuth1Client: Sendable, Hashable {
  package enum Method: String, Sendable, CaseIterable {
    case hmacSHA1 = "HMAC-SHA1"
    /// Not in RFC 5849, but common.
    case hmacSHA256 = "HMAC-SHA256"
    case rsaSHA1 = "RSA-SHA1"
    case plaintext = "PLAINTEXT"
  }

  /// What proves to the server that the client has sent a request.
  package enum Proof: Sendable, Hashable {
    /// The secret that belongs to the consumer key, which the client shares with the server.
    case secret(SecretSource)
    /// An RSA key, whose public key the server knows (RFC 5849 section 3.4.3).
    case privateKey(SigningKeySource)
  }

  package var method = Method.hmacSHA1
  package var consumerKey: FieldValue
  package var proof: Proof
  /// The user's token. A `.token` gives both the token and its secret. `nil` if there is no user.
  package var token: SecretSource?
  /// The secret of `token`. `nil` if there is no token, if `token` also gives the secret, or for RSA-SHA1.
  package var tokenSecret: SecretSource?
  /// The realm: visible ASCII without quotation marks and backslashes; `nil` to send none.
  package var realm: String?
  /// Whether to send `oauth_version`, which is optional (RFC 5849 section 3.1).
  package var sendsVersion = true

  package init(consumerKey: FieldValue, consumerSecret: SecretSource) {
    self.consumerKey = consumerKey
    proof = .secret(consumerSecret)
  }

  package init(consumerKey: FieldValue, privateKey: SigningKeySource) {
    self.consumerKey = consumerKey
    proof = .privateKey(privateKey)
    method = .rsaSHA1
  }

  /// Whether a signature covers the parameters of a form (RFC 5849 section 3.4.1.3.1).
  package var signsForms: Bool { method != .plaintext }

  package var sources: [SecretSource] {
    let proofs: [SecretSource?] =
      switch proof {
      case .secret(let secret): [secret]
      case .privateKey(let key): [key.source, key.passphrase]
      }
    return consumerKey.sources + (proofs + [token, tokenSecret]).compactMap(\.self)
  }

  /// The query parameters of a signature (RFC 5849 section 3.1).
  package static let parameterNames = [
    "oauth_consumer_key", "oauth_token", "oauth_signature_method", "oauth_signature", "oauth_timestamp",
    "oauth_nonce", "oauth_version",
  ]
}
