/// The OAuth client as which bearerd requests tokens (RFC 6749 section 2).
package struct TokenClient: Sendable, Hashable {
  package enum Authentication: Sendable, Hashable {
    /// A public client, which sends only its ID, as a form field.
    case none
    /// The secret is sent with `Authorization: Basic` (RFC 6749 section 2.3.1).
    case basic(SecretSource)
    /// The secret is a form field (RFC 6749 section 2.3.1).
    case post(SecretSource)
    /// A signed JWT (RFC 7523 section 2.2). `audience` is the `aud` claim; `nil` means the endpoint's URL.
    case privateKeyJWT(SigningKeySource, audience: String?)
    /// Mutual TLS (RFC 8705 section 2). The string identifies the client certificate.
    case certificate(String)
  }

  /// The client ID: visible ASCII and spaces (RFC 6749 appendix A.1). May be empty only if `authentication` is `none`
  /// and the grant needs no client.
  package var id: String
  package var authentication: Authentication

  package init(id: String, authentication: Authentication) {
    self.id = id
    self.authentication = authentication
  }
}

/// The key that signs JWTs: an unencrypted PEM key. RSA keys need at least 2048 bits and sign with RS256, P-256 keys
/// sign with ES256 (RFC 7518 section 3.1).
package struct SigningKeySource: Sendable, Hashable {
  package var source: SecretSource
  /// The `kid` header of the JWTs; `nil` to send none.
  package var identifier: String?

  package init(_ source: SecretSource, identifier: String? = nil) {
    self.source = source
    self.identifier = identifier
  }
}
