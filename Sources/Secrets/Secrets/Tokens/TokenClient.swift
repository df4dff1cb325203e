/// Who asks (RFC 6749 section 2).
package struct TokenClient: Sendable, Hashable {
  package enum Authentication: Sendable, Hashable {
    /// A public client: its id alone, in the form.
    case none
    /// RFC 6749 section 2.3.1, by `Authorization: Basic`.
    case basic(SecretSource)
    /// The secret goes into the form.
    case post(SecretSource)
    /// RFC 7523 section 2.2. `audience`: `aud`; nil: the URL of the endpoint.
    case privateKeyJWT(SigningKeySource, audience: String?)
    /// RFC 8705 section 2: by the certificate that TLS shows, which this names.
    case certificate(String)
  }

  /// Visible ASCII and blanks (RFC 6749 appendix A.1). Empty only where the grant needs no client, with `none`.
  package var id: String
  package var authentication: Authentication

  package init(id: String, authentication: Authentication) {
    self.id = id
    self.authentication = authentication
  }
}

/// A private key as PEM, unencrypted: RSA of 2048 bits or more signs by RS256, EC on P-256 by ES256 (RFC 7518 section 3.1).
package struct SigningKeySource: Sendable, Hashable {
  package var source: SecretSource
  /// `kid` of the header; nil: none.
  package var identifier: String?

  package init(_ source: SecretSource, identifier: String? = nil) {
    self.source = source
    self.identifier = identifier
  }
}
