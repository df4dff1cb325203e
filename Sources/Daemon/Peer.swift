internal import EventLoop
internal import Policy
internal import System

/// Who is at the other end of a client connection, as the kernel says. Asked once per connection. Where our end is no
/// loopback address, the other may be anywhere, and nobody is asked.
struct Peer {
  let caller: Caller?
  private let client: SocketAddress?
  private let server: SocketAddress?

  init(of stream: EventLoop.Stream, diagnostics: SocketDiagnostics?) {
    if stream.isUnix {
      client = nil
      server = nil
      caller = CallerIdentity.ofPeer(descriptor: stream.descriptor).map(Caller.init)
    } else {
      client = stream.peerAddress
      server = stream.localAddress
      if let client, let server {
        caller = server.isLoopback ? Peer.owner(client, server, diagnostics) : .network
      } else {
        caller = nil
      }
    }
  }

  /// The client has sent its end: has it closed, or only its sending half? On one machine the kernel can tell: a closed
  /// socket belongs to nobody.
  func isGone(_ stream: EventLoop.Stream, worker: Worker) -> Bool {
    if stream.isUnix { return CallerIdentity.hasHungUp(descriptor: stream.descriptor) }
    guard let client, let server else { return true }
    // Of another machine's sockets nobody knows: its answer is tried.
    guard server.isLoopback else { return false }
    return Peer.owner(client, server, worker.diagnostics) == nil
  }

  private static func owner(
    _ client: SocketAddress, _ server: SocketAddress, _ diagnostics: SocketDiagnostics?
  ) -> Caller? {
    diagnostics?.owner(
      clientIP: client.ip, clientPort: client.port, serverIP: server.ip, serverPort: server.port
    ).map(Caller.init)
  }
}

extension SocketAddress {
  fileprivate var isLoopback: Bool { IPAddress(bytes: ip)?.isLoopback ?? false }
}
