// Called by `HTTP2HeadEncoder`, and by the connection that writes its requests at the end of a turn of the loop.
// Calls `RecordBuffer`.

internal import System
package import TLS

/// The requests that one HTTP/2 connection has got in this turn of the loop, so that one TLS record can carry them.
///
/// They have credentials. Therefore they wait in the locked memory of the keyring, which has no other copy of them, and which is
/// zero again after they were written. If the keyring needs the memory for another connection, they are written at once.
package final class RequestStage {
  private let memory: LockedMemory
  private var record: RecordBuffer
  /// The connection whose requests wait. `nil` if none wait.
  private(set) var user: (any RequestStageUser)?
  /// What the session of `user` has verified. The bytes go to no other session.
  private var proof: SessionProof?

  init(memory: LockedMemory) {
    self.memory = memory
    record = RecordBuffer(memory: memory.bytes)
  }

  /// Makes the memory available for another connection, or for a request over HTTP/1.
  @inline(__always)
  func vacate() { if user != nil { makeUserWrite() } }

  private func makeUserWrite() {
    user?.writeStage()
    discard()
  }

  /// Begins to collect requests of a connection, or continues.
  func begin(_ user: any RequestStageUser, over session: borrowing VerifiedSession) {
    if self.user === user, proof === session.proof { return }
    vacate()
    (self.user, proof) = (user, session.proof)
  }

  /// How many bytes still fit into the TLS record.
  package var room: Int { record.room }

  /// Adds bytes. Writes them if they do not fit into one TLS record.
  package func append(_ bytes: UnsafeRawBufferPointer, over session: inout VerifiedSession) {
    // Never true. The requests are then lost, and the next `write` throws.
    guard proof === session.proof else { return discard() }
    record.append(bytes, over: &session)
  }

  /// Writes all bytes, and wipes the memory. Throws the first error of all writes.
  package func write(over session: inout VerifiedSession) throws(TLSError) {
    defer { discard() }
    guard proof === session.proof else {
      throw TLSError(kind: .internalError, detail: "the requests that waited are not of this connection")
    }
    try record.finish(over: &session)
  }

  /// Wipes the memory, without writing.
  package func discard() {
    record.wipe()
    record = RecordBuffer(memory: memory.bytes)
    (user, proof) = (nil, nil)
  }
}

/// A connection whose requests wait in a `RequestStage`.
package protocol RequestStageUser: AnyObject {
  /// Called when the keyring needs the memory. Calls `write` or `discard` of the stage.
  func writeStage()
}
