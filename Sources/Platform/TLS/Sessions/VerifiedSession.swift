package import Policy

/// What was verified about a connection's peer.
package final class SessionProof: Sendable {
  // A class, because each request reads it, and a copy of a struct would retain every string and array in it.

  package enum PinVerdict: Sendable, Equatable { case none, matched, reported }
  package let identity: SessionIdentity
  /// One of the protocols of `identity`.
  package let applicationProtocol: ApplicationProtocol
  /// Whether the server has selected `applicationProtocol` (RFC 7301). Otherwise, it is the default.
  package let isProtocolSelected: Bool
  package let pins: PinVerdict
  /// The first of the pins that matched; `nil` if none did.
  package let matchedPin: Pin?
  /// The validity of the upstream's own certificate.
  package let leafValidity: Validity
  package let validity: Validity
  package let isResumed: Bool
  /// A text about the pins for the log; `nil` if there is nothing to report.
  package let remark: String?

  init(
    identity: SessionIdentity, applicationProtocol: ApplicationProtocol, isProtocolSelected: Bool,
    _ verdict: SessionVerdict, isResumed: Bool
  ) {
    self.identity = identity
    self.applicationProtocol = applicationProtocol
    self.isProtocolSelected = isProtocolSelected
    self.isResumed = isResumed
    (pins, matchedPin, leafValidity) = (verdict.pins, verdict.matchedPin, verdict.leafValidity)
    (validity, remark) = (verdict.validity, verdict.remark)
  }
}

/// A connection whose peer is verified. `Keyring.authorize` writes a credential only to such a connection.
package struct VerifiedSession: ~Copyable {
  // Only `Handshake.verified` creates a value.
  package let proof: SessionProof
  var connection: TLSConnection

  package enum Received: Sendable, Equatable {
    case open
    /// The peer sent close_notify, and will send nothing more.
    case closed
  }

  /// Decrypts all received bytes and appends them to `plaintext`, also if it throws. If the transport ends without
  /// `.closed`, data was cut off.
  package mutating func decrypt(
    _ ciphertext: Span<UInt8>, into plaintext: inout [UInt8]
  ) throws(TLSError) -> Received {
    try connection.read(ciphertext, into: &plaintext) ? .closed : .open
  }

  package mutating func write(_ bytes: Span<UInt8>) throws(TLSError) {
    try bytes.withUnsafeBytes { (bytes) throws(TLSError) in try connection.write(bytes) }
  }

  /// Encrypts and sends bytes from memory that is not a Swift array.
  package mutating func write(_ bytes: UnsafeRawBufferPointer) throws(TLSError) {
    try connection.write(bytes)
  }

  /// Frees the record buffers of an idle connection.
  package mutating func releaseBuffers() { connection.releaseBuffers() }

  /// Why the upstream may have ended the connection, for the log; `nil` if nothing is known.
  package var advice: String? { connection.state.advice }

  /// Sends close_notify. The session stays resumable.
  package mutating func close() { connection.close() }
}
