/// The proof for this connection.
package struct SessionProof: Sendable, Equatable {
  package enum PinVerdict: Sendable, Equatable { case none, matched, reported }
  package let identity: SessionIdentity
  package let pins: PinVerdict
  /// While it holds: outside of it the connection proves nothing any more. Of a full handshake the whole chain's; of a resumed
  /// one that of the handshake it goes back to.
  package let validity: Validity
  package let isResumed: Bool
  /// With `reported`: what was seen, for the event. With pins in the live chain only (no backup left): a warning.
  package let remark: String?
}

/// A connection whose peer is who it should be. `Keyring.authorize` writes a credential only to one of these.
package struct VerifiedSession: ~Copyable {
  package let proof: SessionProof
  var connection: TLSConnection

  /// Only `Handshake.verified` calls this.
  init(proof: SessionProof, connection: consuming TLSConnection) {
    self.proof = proof
    self.connection = connection
  }

  package enum Received: Sendable, Equatable {
    case open
    /// close_notify: nothing more will come.
    case closed
  }

  /// Decrypts everything that came, and appends it to `plaintext` (any size; 256 KiB of input give at most 272 KiB).
  /// What was decrypted before an error stays in `plaintext`. A transport that ends without `.closed` before was cut.
  package mutating func decrypt(
    _ ciphertext: Span<UInt8>, into plaintext: inout [UInt8]
  ) throws(TLSError) -> Received {
    try connection.read(ciphertext, into: &plaintext) ? .closed : .open
  }

  /// Encrypts and sends; all of it is taken.
  package mutating func write(_ bytes: Span<UInt8>) throws(TLSError) {
    try bytes.withUnsafeBytes { (bytes) throws(TLSError) in try connection.write(bytes) }
  }

  /// Writes from memory that is not a Swift array (the keyring's locked page).
  package mutating func write(_ bytes: UnsafeRawBufferPointer) throws(TLSError) {
    try connection.write(bytes)
  }

  /// Nothing is expected for a while, and nothing is under way: room for records is given back. It comes again by itself.
  package mutating func rest() {
    connection.rest()
  }

  /// close_notify goes out; the session stays resumable.
  package mutating func close() {
    connection.close()
  }
}
