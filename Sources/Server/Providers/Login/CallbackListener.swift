internal import Configuration
internal import EventLoop
internal import Policy
internal import System
internal import Transport

/// The place on this machine to which a browser comes back from a login, for as long as the login takes (RFC 8252 section 7.3).
final class CallbackListener: ListenerDelegate {
  private let context: WorkerContext
  private let listener: Listener
  private let redirect: LoopbackRedirect
  private let onCall: (CallbackConnection, Span<UInt8>) -> Void
  private var connections: [CallbackConnection] = []

  /// Browsers open more than they need.
  private static let mostConnections = 16

  /// - Parameter onCall: a whole request has come, with this target.
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
    // Connections that have an answer take it along.
    for connection in connections { connection.close() }
    connections = []
  }

  func listener(_ listener: Listener, didAccept stream: EventLoop.Stream) {
    // A connection that says nothing must not keep the browser away.
    if connections.count >= Self.mostConnections { connections.removeFirst().close() }
    let connection = CallbackConnection(
      stream, isWelcome: isWelcome(stream), authorities: redirect.authorities(port: port)
    ) { [unowned self] in onCall($0, $1) }
    connections.append(connection)
    connection.start()
  }

  /// A person's daemon hears that person's browser alone: another user could bring an answer of another account's. A daemon
  /// under a user of its own cannot know whose browser it is, and `state` has to do.
  private func isWelcome(_ stream: EventLoop.Stream) -> Bool {
    guard Users.currentUID >= 1000 else { return true }
    return Peer(of: stream, diagnostics: context.diagnostics).caller?.uid == Users.currentUID
  }

  func listener(_ listener: Listener, didFail error: UVError) {
    listener.closeWaiting()
    listener.resume()
  }
}
