package import TLS

/// Why the keyring refused to send a credential.
package struct AuthorizationError: Error, Sendable, Equatable, CustomStringConvertible {
  package enum Reason: Sendable, Equatable {
    /// The secret is missing, empty or unusable. `detail` says what to do.
    case unavailable
    case originNotGranted
    case callerNotGranted
    case pinsNotMatched
    case wrongSession
    /// The check of the upstream's certificate is no longer valid, for example because the certificate has expired.
    case proofExpired
    case unknownGrant
    case sessionFailed(TLSError)
    /// The HTTP/2 connection cannot carry this request now. Other requests of the connection continue.
    case streamRefused
  }

  package let reason: Reason
  package let detail: String

  package init(reason: Reason, detail: String) {
    self.reason = reason
    self.detail = detail
  }

  /// Creates the error for a session that is no longer usable.
  package init(_ error: TLSError) { self.init(reason: .sessionFailed(error), detail: error.description) }

  package var description: String { detail }

  /// The error for a connection that cannot be a `VerifiedSession`, such as a plain connection to a loopback address.
  package static var noProof: AuthorizationError {
    AuthorizationError(reason: .wrongSession, detail: "the connection does not prove who is at its other end")
  }
}
