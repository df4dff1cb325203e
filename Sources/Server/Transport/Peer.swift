package import EventLoop
package import Policy
package import System

/// Who is at the other end of a client connection, as the kernel says. Asked once per connection. Where our end is no
/// loopback address, the other may be anywhere, and the kernel is not asked.
package struct Peer {
  package let caller: Caller?
  /// In which the client's socket was made. Of a unix socket's client only its process is known, into which a daemon that is
  /// unprivileged cannot look.
  package let controlGroup: UInt64?
  /// Our address, unless it is one of the two by which a listener of this machine is always called.
  package let localEnd: LocalEnd?

  package init(of stream: EventLoop.Stream, diagnostics: SocketDiagnostics?) {
    if stream.isUnix {
      caller = CallerIdentity.ofPeer(descriptor: stream.descriptor).map(Caller.init)
      controlGroup = nil
      localEnd = nil
    } else {
      let (client, server) = (stream.peerAddress, stream.localAddress)
      localEnd = server.flatMap(Peer.localEnd)
      if let client, let server, server.isLoopback {
        let found = Peer.owner(client, server, diagnostics)
        let owner = SocketDiagnostics.isConnected(descriptor: stream.descriptor) ? found : nil
        caller = owner.map { Caller(uid: $0.uid) }
        controlGroup = owner?.controlGroup
      } else {
        caller = client == nil || server == nil ? nil : .network
        controlGroup = nil
      }
    }
  }

  private static func localEnd(_ address: SocketAddress) -> LocalEnd? {
    if address.ip == loopback4 || address.ip == loopback6 { return nil }
    return IPAddress(bytes: address.ip).map { LocalEnd(ip: $0, port: address.port) }
  }

  private static let loopback4: [UInt8] = [127, 0, 0, 1]
  private static let loopback6: [UInt8] = Array(repeating: 0, count: 15) + [1]

  /// No uid comes with it: only a client token tells who asks.
  package var isByNetwork: Bool { caller == .network }

  /// The client has sent its end: has it closed, or only its sending half? On one machine the kernel can tell: a closed
  /// socket belongs to no user.
  package static func isGone(_ stream: EventLoop.Stream, diagnostics: SocketDiagnostics?) -> Bool {
    if stream.isUnix { return CallerIdentity.hasHungUp(descriptor: stream.descriptor) }
    guard let client = stream.peerAddress, let server = stream.localAddress else { return true }
    // Nothing is known of another machine's sockets: its answer is tried.
    guard server.isLoopback else { return false }
    return Peer.owner(client, server, diagnostics) == nil
  }

  private static func owner(
    _ client: SocketAddress, _ server: SocketAddress, _ diagnostics: SocketDiagnostics?
  ) -> SocketOwner? {
    diagnostics?.owner(
      clientIP: client.ip, clientPort: client.port, serverIP: server.ip, serverPort: server.port)
  }
}

extension SocketAddress {
  fileprivate var isLoopback: Bool { IPAddress(bytes: ip)?.isLoopback ?? false }
}
