/// The OAuth client as which bearerd requests tokens (RFC 6749 section 2).
package struct TokenClient: Sendable, Hashable {
  package enum Authentication: Sendable, Hashable {
    /// A public client, which sends only its ID, as a form field.
    case none
    /// The secret is sent with `Authorization: Basic` (RFC 6749 section 2.3.1).
    case basic(SecretSource)
    /// Like `basic`, but ID and secret are not form-encoded first. For servers that do not decode them.
    case basicRaw(SecretSource)
    /// The secret is a form field (RFC 6749 section 2.3.1).
    case post(SecretSource)
    /// A signed JWT (RFC 7523 section 2.2). `audience` is the `aud` claim; `nil` means the endpoint's URL.
    case privateKeyJWT(SigningKeySource, audience: String?)
    /// A signed JWT is sent with `Authorization: Bearer`, as by a GitHub App. `audience` is the `aud` claim; `nil` to send
    /// none.
    case privateKeyBearer(SigningKeySource, audience: String?)
    /// Mutual TLS (RFC 8705 section 2). The string identifies the client certificate.
    case certificate(String)
  }

  /// The client ID, in visible ASCII and spaces (RFC 6749 appendix A.1). Empty only if the grant needs no client.
  package var id: String
  package var authentication: Authentication

  package init(id: String, authentication: Authentication) {
    self.id = id
    self.authentication = authentication
  }
}

/// The private key in PEM that signs JWTs (RFC 7515).
package struct SigningKeySource: Sendable, Hashable {
  package var source: SecretSource
  /// The source of the key's passphrase; `nil` if the key is not encrypted.
  package var passphrase: SecretSource?
  /// The `kid` header of the JWTs; `nil` to send none.
  package var identifier: String?

  package init(_ source: SecretSource, passphrase: SecretSource? = nil, identifier: String? = nil) {
    self.source = source
    self.passphrase = passphrase
    self.identifier = identifier
  }
}
