@_spi(SecretBytes) package import Credentials

/// What a person needs to log in on another device (RFC 8628 section 3.2), and what we ask with meanwhile.
package struct DeviceAuthorization: ~Copyable {
  package let deviceCode: Secret
  /// Printable ASCII, at most 64 characters: to be shown.
  package let userCode: String
  /// https, visible ASCII: to be shown.
  package let verificationURI: String
  package let verificationURIComplete: String?
  /// Milliseconds.
  package let lifetime: UInt64
  /// Milliseconds; nil: the server did not say.
  package let interval: UInt64?

  /// An answer to `.deviceAuthorization`.
  package static func read(
    _ head: AnswerHead, _ body: Span<UInt8>, of source: TokenSource, now: Int64, in arena: SecretArena
  ) throws(TokenRefusal) -> DeviceAuthorization {
    throw TokenRefusal(.transient(retryAfter: nil), "not yet")
  }
}
