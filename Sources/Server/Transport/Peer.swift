package import EventLoop
package import Policy
package import System

/// The client's end of a connection, as the kernel reports it.
package struct Peer {
  /// The client's user, or `.network` if the client can be on another machine. `nil` if the user is unknown.
  package let caller: Caller?
  /// The control group in which the client's socket was created. `nil` if it is unknown.
  package let controlGroup: UInt64?
  /// The local address of the connection. `nil` for 127.0.0.1, ::1 and Unix sockets.
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

  /// Whether the client can be on another machine.
  package var isNetworkCaller: Bool { caller == .network }

  /// Whether the client has closed its socket completely. Call this after the end of the client's stream. Always
  /// `false` if the client can be on another machine.
  package static func isGone(_ stream: EventLoop.Stream, diagnostics: SocketDiagnostics?) -> Bool {
    if stream.isUnix { return CallerIdentity.hasHungUp(descriptor: stream.descriptor) }
    guard let client = stream.peerAddress, let server = stream.localAddress else { return true }
    // The sockets of another machine are unknown, so bearerd tries to send the response.
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
