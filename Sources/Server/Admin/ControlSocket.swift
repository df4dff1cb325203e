package import Configuration
package import EventLoop
package import Log
package import Providers
package import Settings
internal import Loading
internal import StatusModel
internal import System

/// The Unix socket to which `bearerctl` connects. Only root and the daemon's own user may connect (T52). A client sends
/// one line with a command. The response is a line `ok` or `error`, and then the result.
package final class ControlSocket: ListenerDelegate, StreamDelegate {
  private var listener: Listener?
  /// Commands without arguments, by the line that a client sends.
  private let commands: [String: Command]
  /// Commands about a credential, by verb.
  private let credentialCommands: [String: CredentialCommand]
  /// Commands about a service, by verb.
  private let serviceCommands: [String: CredentialCommand]
  /// Queries by verb.
  private let queries: [String: Query]
  private let credentials: () -> [String]
  private let services: () -> [String]
  private var connections: [ObjectIdentifier: Connection] = [:]
  /// Maximum length of a client's line, in bytes.
  private static let maximumLine = 262_144
  private static let maximumConnections = 16
  /// Maximum number of bytes that wait to be sent to a client.
  private static let maximumQueue = 65_536

  /// Runs a command. Calls `completion` exactly once, possibly before it returns.
  package typealias Command = (_ completion: @escaping (Result<[UInt8], StartError>) -> Void) -> Void
  /// Starts a command about a credential or a service. Ends `exchange` before it returns, or retains it.
  package typealias CredentialCommand = (_ name: String, _ exchange: ControlExchange) -> Void
  /// Answers a query. Calls `completion` exactly once, possibly before it returns.
  package typealias Query = (_ text: String, _ completion: @escaping (Result<[UInt8], StartError>) -> Void) -> Void

  private struct Connection {
    let stream: EventLoop.Stream
    var input: [UInt8] = []
    var hasRequest = false
    var exchange: ControlExchange?
  }

  private let loop: Loop
  private let log: EventLog
  private var path: String?
  private var isConfigured = false

  package init(
    loop: Loop, log: EventLog, commands: [String: Command], credentialCommands: [String: CredentialCommand],
    serviceCommands: [String: CredentialCommand], queries: [String: Query], credentials: @escaping () -> [String],
    services: @escaping () -> [String]
  ) {
    self.loop = loop
    self.log = log
    self.commands = commands
    self.credentialCommands = credentialCommands
    self.serviceCommands = serviceCommands
    self.queries = queries
    self.credentials = credentials
    self.services = services
  }

  /// Opens the socket at the configured path, unless the path is unchanged. Logs an event if this fails.
  package func update(to settings: DaemonSettings) {
    guard settings.hasControlSocket else { return }
    let newPath = settings.controlSocket ?? ControlPath.standard
    guard newPath != path || !isConfigured else { return }
    isConfigured = true
    closeListener()
    path = newPath
    guard let path else {
      log.event(
        .noControlSocket, ("detail", "XDG_RUNTIME_DIR is not set"),
        ("help", "bearerctl reload and status need it: set control: PATH. SIGHUP still reloads the configuration"))
      return
    }
    do {
      let descriptor = try UnixSocket.listen(path: path, mode: 0o600, group: nil, backlog: 16)
      listener = try Listener(loop: loop, adopting: descriptor, isUnix: true)
      listener?.delegate = self
      try listener?.start()
      log.event(.control, ("address", "unix:\(path)"))
    } catch {
      log.event(
        .noControlSocket, ("path", path), ("detail", "\(error)"),
        (
          "help",
          "bearerctl reload and status need it: stop the other program that listens there, create the directory, or set control: PATH. SIGHUP still reloads the configuration"
        ))
    }
  }

  private func closeListener() {
    guard let listener else { return }
    listener.close()
    self.listener = nil
    if let path { UnixSocket.remove(path: path) }
  }

  package func close() {
    closeListener()
    closeConnections { _ in true }
  }

  private func closeConnections(where shouldClose: (Connection) -> Bool) {
    for (key, connection) in connections where shouldClose(connection) {
      connections[key] = nil
      connection.stream.close()
      connection.exchange?.cancel()
    }
  }

  package func listener(_ listener: Listener, didAccept stream: EventLoop.Stream) {
    let uid = CallerIdentity.ofPeer(descriptor: stream.descriptor)
    guard uid == 0 || uid == Users.currentUID else { return stream.close() }
    // Idle connections must not block new ones. Running logins stay open, because they can take long.
    if connections.count >= ControlSocket.maximumConnections { closeConnections { $0.exchange == nil } }
    guard connections.count < ControlSocket.maximumConnections else { return stream.close() }
    connections[ObjectIdentifier(stream)] = Connection(stream: stream)
    stream.delegate = self
    stream.step = .control
    stream.startReading()
  }

  package func listener(_ listener: Listener, didFail error: UVError) {
    // No descriptors are left: close pending connections, because the loop would spin otherwise.
    listener.closePendingConnections()
    listener.resume()
  }

  package func streamDidConnect(_ stream: EventLoop.Stream) {}

  package func stream(_ stream: EventLoop.Stream, didRead bytes: Span<UInt8>) {
    guard var connection = connections[ObjectIdentifier(stream)], !connection.hasRequest else { return }
    let known = connection.input.count
    for index in bytes.indices { connection.input.append(bytes[index]) }
    let end = connection.input[known...].firstIndex(of: UInt8(ascii: "\n"))
    connection.hasRequest = end != nil
    connections[ObjectIdentifier(stream)] = connection
    if let end {
      respond(to: String(decoding: connection.input[..<end], as: UTF8.self), on: stream)
    } else if connection.input.count > ControlSocket.maximumLine {
      finish(stream, "error\nThe request is too long.\n")
    }
  }

  private func respond(to command: String, on stream: EventLoop.Stream) {
    if let run = commands[command] { return run { [unowned self] in finish(stream, $0) } }
    let words = command.split(separator: " ", maxSplits: 1).map(String.init)
    if words.count == 2, let query = queries[words[0]] {
      return query(words[1]) { [unowned self] in finish(stream, $0) }
    }
    guard words.count == 2, let run = credentialCommands[words[0]] ?? serviceCommands[words[0]] else {
      return finish(stream, .failure(.system("This daemon does not know that request.")))
    }
    let isOfService = serviceCommands[words[0]] != nil
    let names = isOfService ? services() : credentials()
    guard names.contains(words[1]) else {
      let kind = isOfService ? "service" : "credential"
      return finish(stream, .failure(.system(ControlSocket.unknown(kind, words[1], among: names))))
    }
    let exchange = ControlExchange { [unowned self] event in
      switch event {
      case .progress(let line): sendProgress(line, on: stream)
      case .end(let result): finish(stream, result)
      }
    }
    connections[ObjectIdentifier(stream)]?.exchange = exchange
    run(words[1], exchange)
  }

  private static func unknown(_ kind: String, _ name: String, among names: [String]) -> String {
    let guess = Suggestion.nearest(to: name, in: names).map { "did you mean \"\($0)\"?" }
    let all =
      switch names.count {
      case 0: "there are none"
      case 1: "there is only \"\(names[0])\""
      default: "there are \(names.joined(separator: ", "))"
      }
    let help = guess ?? all
    return "There is no \(kind) \"\(name)\" in the configuration in use: \(help)"
  }

  private func sendProgress(_ line: String, on stream: EventLoop.Stream) {
    guard connections[ObjectIdentifier(stream)] != nil, stream.queuedBytes < ControlSocket.maximumQueue else { return }
    stream.write(Array("progress \(line)\n".utf8).span)
  }

  private func finish(_ stream: EventLoop.Stream, _ result: Result<[UInt8], StartError>) {
    guard connections[ObjectIdentifier(stream)] != nil else { return }
    switch result {
    case .success(let output): finish(stream, "ok\n", output)
    case .failure(let error): finish(stream, "error\n\(error)\n")
    }
  }

  private func finish(_ stream: EventLoop.Stream, _ status: String, _ output: [UInt8] = []) {
    connections[ObjectIdentifier(stream)] = nil
    stream.write((Array(status.utf8) + output).span)
    stream.closeAfterFlush()
  }

  package func streamDidEnd(_ stream: EventLoop.Stream) { drop(stream) }
  package func streamDidDrain(_ stream: EventLoop.Stream) {}
  package func stream(_ stream: EventLoop.Stream, didFail error: UVError) { drop(stream) }

  private func drop(_ stream: EventLoop.Stream) {
    let exchange = connections.removeValue(forKey: ObjectIdentifier(stream))?.exchange
    stream.close()
    exchange?.cancel()
  }
}
