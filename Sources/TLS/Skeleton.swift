package import Policy

/// What failed, in words that name who is to blame; `kind` is what a client may learn.
package struct TLSError: Error, Sendable, Equatable, CustomStringConvertible {
  package enum Kind: String, Sendable {
    /// Chain not trusted, no certificate, wrong purpose, weak key.
    case certificateInvalid
    case certificateExpired
    case hostnameMismatch
    case pinMismatch
    case pinsExpired
    /// The peer broke or refused the TLS protocol (alert, wrong version, not TLS at all).
    case handshakeFailed
    case closed
    case internalError
  }
  package let kind: Kind
  /// For the log: OpenSSL's reasons, the name that was wanted, the SPKI pins of the verified chain on a mismatch. No secrets occur in it.
  package let detail: String
  package var description: String { fatalError() }
}

/// Certificates that chains may end in: an X509_STORE, shared by contexts.
package final class TrustStore {
  /// The distribution's bundle at its compiled-in well-known paths (/etc/ssl/certs/ca-certificates.crt, …); SSL_CERT_FILE and SSL_CERT_DIR are not looked at.
  package static func system() throws(TLSError) -> TrustStore { fatalError() }
  /// PEM, one or more certificates; anything unreadable in it is an error. `name` is for messages.
  package init(pem: [UInt8], name: String) throws(TLSError) { fatalError() }
  /// SHA-256 over the certificates; part of a session's identity.
  package var fingerprint: [UInt8] { fatalError() }
}

/// Everything that a verdict depends on. Two requests may share a connection or a TLS session only if these are equal.
package struct SessionIdentity: Hashable, Sendable {
  package let origin: Origin
  package let trust: TrustPolicy
  package let trustFingerprint: [UInt8]
  /// Name of the grant, or nil without credential.
  package let grant: String?
  /// Generation of the configuration.
  package let generation: UInt64
  package init(origin: Origin, trust: TrustPolicy, trustFingerprint: [UInt8], grant: String?, generation: UInt64) { fatalError() }
}

/// Where ciphertext goes. Takes everything, at once (what the socket does not take it queues), and never calls out.
open class CiphertextSink {
  package init() {}
  package func send(_ ciphertext: Span<UInt8>) { fatalError("abstract") }
}

/// One SSL_CTX for one identity, with that identity's resumable sessions (never serialised, never shared).
package final class ClientContext {
  package let identity: SessionIdentity
  package init(identity: SessionIdentity, store: TrustStore) throws(TLSError) { fatalError() }
  /// Starts a handshake: the ClientHello goes to the sink at the first `advance`. Offers a session of this identity if there is one.
  package func handshake(sink: CiphertextSink) throws(TLSError) -> Handshake { fatalError() }
  /// For a new generation or a revoked grant.
  package func forgetSessions() { fatalError() }
  /// Full and resumed handshakes so far; sessions kept.
  package var statistics: (full: UInt64, resumed: UInt64, kept: Int) { fatalError() }
}

/// A handshake under way. No bytes of an application can be written through it.
package struct Handshake: ~Copyable {
  package enum Progress: Sendable, Equatable { case wantsPeer, finished }
  /// Feeds what came (empty at the start). Errors are final.
  package mutating func advance(_ input: Span<UInt8>) throws(TLSError) -> Progress { fatalError() }
  /// The peer closed the transport.
  package mutating func inputEnded() -> TLSError { fatalError() }
  /// The only maker of a VerifiedSession: chain, name, purpose, pins (unix time `now` for their expiry) — of a full handshake over the verified chain, of a resumed one by
  /// the verdict kept with the session and the leaf again. Otherwise an alert goes out and the error says what was seen.
  package consuming func verified(now: Int64) throws(TLSError) -> VerifiedSession { fatalError() }
}

/// What was proved for this connection.
package struct SessionProof: Sendable, Equatable {
  package enum PinVerdict: Sendable, Equatable { case none, matched, reported }
  package let identity: SessionIdentity
  package let pins: PinVerdict
  package let isResumed: Bool
  /// With `reported`: what was seen, for the event. With pins in the live chain only (no backup left): a warning.
  package let remark: String?
}

/// A connection whose peer is who it should be. The door for credentials (Keyring.authorize) opens only for one of these.
package struct VerifiedSession: ~Copyable {
  package let proof: SessionProof
  package enum Received: Sendable, Equatable {
    case open
    /// close_notify: nothing more will come.
    case closed
  }
  /// Decrypts everything that came, and appends it to `plaintext` (any size; 256 KiB of input give at most 272 KiB).
  package mutating func decrypt(_ ciphertext: Span<UInt8>, into plaintext: inout [UInt8]) throws(TLSError) -> Received { fatalError() }
  /// Encrypts and sends; all of it is taken.
  package mutating func write(_ bytes: Span<UInt8>) throws(TLSError) { fatalError() }
  /// The same from memory that is not a Swift array (the keyring's locked page).
  package mutating func write(_ bytes: UnsafeRawBufferPointer) throws(TLSError) { fatalError() }
  /// close_notify goes out; the session stays resumable.
  package mutating func close() { fatalError() }
}

/// Pins and subject of a certificate, for `bearerctl pin`.
package struct CertificateDescription: Sendable, Equatable {
  package enum Role: String, Sendable { case leaf, intermediate, root }
  package let subject: String
  package let issuer: String
  package let role: Role
  package let pin: Pin
  /// Seconds since 1970.
  package let notAfter: Int64
  /// e.g. `RSA 2048`, `EC prime256v1`, `ED25519`
  package let key: String
}

package enum Certificates {
  /// Certificates of a PEM (or one DER) file, in file order.
  package static func describe(file bytes: [UInt8]) throws(TLSError) -> [CertificateDescription] { fatalError() }
}

extension VerifiedSession {
  /// The verified chain, leaf first; empty on a resumed session.
  package var verifiedChain: [CertificateDescription] { fatalError() }
}
