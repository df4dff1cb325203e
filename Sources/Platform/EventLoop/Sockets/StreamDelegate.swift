/// Receives the events of a stream. Never called within a call on the stream, or after a call that closes it.
package protocol StreamDelegate: AnyObject {
  func streamDidConnect(_ stream: Stream)
  /// Receives input. `bytes` are valid only during the call.
  func stream(_ stream: Stream, didRead bytes: Span<UInt8>)
  /// The peer has ended its output. Called once. Writing is still possible.
  func streamDidEnd(_ stream: Stream)
  /// The kernel has accepted all queued bytes. Called only if bytes had to be queued.
  func streamDidDrain(_ stream: Stream)
  /// Connecting, reading or writing failed. Close the stream. Called at most once, as the last call.
  func stream(_ stream: Stream, didFail error: UVError)
}
