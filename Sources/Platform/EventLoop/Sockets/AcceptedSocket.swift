internal import Glibc

/// An accepted connection that belongs to no loop yet. Call `stream(on:)` or `close()`.
package struct AcceptedSocket: Sendable {
  let descriptor: Int32
  let isUnix: Bool
  let peer: SocketAddress?
  let local: SocketAddress?

  /// Creates a stream that owns the descriptor. If this throws, the caller still owns the descriptor.
  package func stream(on loop: Loop) throws(UVError) -> Stream {
    let stream = try Stream(loop: loop, adopting: descriptor, isUnix: isUnix)
    stream.knownAddresses = (peer, local)
    return stream
  }

  package func close() { Glibc.close(descriptor) }
}
