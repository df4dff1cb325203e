internal import EventLoop
internal import Policy
internal import Settings
internal import System
internal import Transport

/// The loopback listener to which a browser returns from a login, open only during the login (RFC 8252 section 7.3).
final class CallbackListener: ListenerDelegate {
  private let context: WorkerContext
  private let listener: Listener
  private let redirect: LoopbackRedirect
  private let onCall: (CallbackConnection, Span<UInt8>) -> Void
  private var connections: [CallbackConnection] = []

  /// Maximum number of connections. At this number, the oldest is closed.
  private static let maxConnections = 16

  /// - Parameter onCall: called with each complete request, as its connection and target.
  init(
    _ redirect: LoopbackRedirect, context: WorkerContext, onCall: @escaping (CallbackConnection, Span<UInt8>) -> Void
  ) throws(UVError) {
    self.context = context
    self.redirect = redirect
    self.onCall = onCall
    let ip: [UInt8] = redirect.isIPv6 ? Array(repeating: 0, count: 15) + [1] : [127, 0, 0, 1]
    listener = try Listener(
      loop: context.loop, address: SocketAddress(ip: ip, port: redirect.port), backlog: 16, reusePort: false)
    listener.delegate = self
    try listener.start()
  }

  var port: UInt16 { listener.port }

  func close() {
    listener.close()
    // Connections with a response still send it.
    for connection in connections { connection.close() }
    connections = []
  }

  func listener(_ listener: Listener, didAccept stream: EventLoop.Stream) {
    // Silent connections must not block the browser.
    if connections.count >= Self.maxConnections { connections.removeFirst().close() }
    let connection = CallbackConnection(
      stream, isWelcome: isWelcome(stream), authorities: redirect.authorities(port: port)
    ) { [unowned self] in onCall($0, $1) }
    connections.append(connection)
    connection.start()
  }

  /// Whether the browser may deliver the code.
  private func isWelcome(_ stream: EventLoop.Stream) -> Bool {
    // If the daemon runs as a person, another user could deliver the code of another account.
    guard Users.currentUID >= 1000 else { return true }
    return Peer(of: stream, diagnostics: context.diagnostics).caller?.uid == Users.currentUID
  }

  func listener(_ listener: Listener, didFail error: UVError) {
    listener.closePendingConnections()
    listener.resume()
  }
}
