/// The events of a stream, for its owner. Never called re-entrantly from within a call on the stream, and never after its end:
/// `close()`, `closeAfterFlush()` or `reset()`.
package protocol StreamDelegate: AnyObject {
  func streamDidConnect(_ stream: Stream)
  /// `bytes` are borrowed from the loop's one read buffer (256 KiB) and are gone after the call.
  func stream(_ stream: Stream, didRead bytes: Span<UInt8>)
  /// The peer will send nothing more. Told once; writing goes on.
  func streamDidEnd(_ stream: Stream)
  /// Everything queued has gone to the kernel. Told only after something had to be queued.
  func streamDidDrain(_ stream: Stream)
  /// Connecting, reading or writing failed. The stream is of no further use; close it. Told at most once, the last call.
  func stream(_ stream: Stream, didFail error: UVError)
}
