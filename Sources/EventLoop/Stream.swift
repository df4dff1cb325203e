/// What a stream tells its owner. Never called re-entrantly from within a call on the stream.
package protocol StreamDelegate: AnyObject {
  func streamDidConnect(_ stream: Stream)
  /// `bytes` are borrowed from the loop's one read buffer (256 KiB) and are gone after the call.
  func stream(_ stream: Stream, didRead bytes: Span<UInt8>)
  /// The peer will send nothing more.
  func streamDidEnd(_ stream: Stream)
  /// Everything queued has gone to the kernel.
  func streamDidDrain(_ stream: Stream)
  /// Connecting, reading or writing failed. The stream is of no further use; close it.
  func stream(_ stream: Stream, didFail error: UVError)
}

/// A connected TCP or unix stream.
package final class Stream {
  package weak var delegate: (any StreamDelegate)?  // unowned(unsafe) if the measurements say so
  package let isUnix: Bool
  /// Begins to connect; the delegate hears of it.
  package init(loop: Loop, connectingTo address: SocketAddress, delegate: any StreamDelegate) throws(UVError) { fatalError() }
  package func startReading() { fatalError() }
  package func stopReading() { fatalError() }
  /// Tries to write at once, copies and queues the rest (in order). Errors come to the delegate on a later turn of the loop.
  package func write(_ bytes: Span<UInt8>) { fatalError() }
  /// Two pieces in one system call.
  package func write(_ first: Span<UInt8>, _ second: Span<UInt8>) { fatalError() }
  /// Bytes that the kernel has not taken yet.
  package var queuedBytes: Int { fatalError() }
  /// Half-closes once everything queued is out.
  package func shutdown() { fatalError() }
  /// Drops what is queued. Idempotent. No delegate call follows.
  package func close() { fatalError() }
  /// Closes once everything queued is out, or failed.
  package func closeAfterFlush() { fatalError() }
  /// Closes with RST.
  package func reset() { fatalError() }
  /// TCP only.
  package var localAddress: SocketAddress? { fatalError() }
  package var peerAddress: SocketAddress? { fatalError() }
  /// For `SO_PEERCRED` and `SO_INCOMING…`; not to be closed.
  package var descriptor: Int32 { fatalError() }
}
