package import TLS

/// Why the keyring refused to send a credential. A plain connection to a loopback address, or any other session without proof, is of another
/// type: `authorize` does not accept it.
package struct AuthorizationError: Error, Sendable, Equatable, CustomStringConvertible {
  package enum Reason: Sendable, Equatable {
    /// The secret is missing, empty or unusable; `detail` says which source and what to do, never a byte of it.
    case unavailable
    case originNotGranted
    case callerNotGranted
    case pinsNotMatched
    case wrongSession
    /// The proofs of the session held until now: the clock has been set, or the time of a certificate or pin is over.
    case proofExpired
    case unknownGrant
    case sessionFailed(TLSError)
  }

  package let reason: Reason
  package let detail: String

  package init(reason: Reason, detail: String) {
    self.reason = reason
    self.detail = detail
  }

  package var description: String { detail }
}

extension AuthorizationError {
  /// A session of a type that carries no secrets was asked to carry one.
  package static var noProof: AuthorizationError {
    AuthorizationError(reason: .wrongSession, detail: "the connection does not prove who is at its other end")
  }
}
