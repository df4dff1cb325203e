internal import Glibc

/// A connection that a listener has accepted and no loop has yet, on its way to one. To be closed, or made a stream of.
package struct AcceptedSocket: Sendable {
  let descriptor: Int32
  let isUnix: Bool
  let peer: SocketAddress?
  let local: SocketAddress?

  /// The descriptor is the stream's now. If this throws, it is still the caller's.
  package func stream(on loop: Loop) throws(UVError) -> Stream {
    let stream = try Stream(loop: loop, adopting: descriptor, isUnix: isUnix)
    stream.setKnownAddresses(peer: peer, local: local)
    return stream
  }

  package func close() { Glibc.close(descriptor) }
}
