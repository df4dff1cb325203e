package import Configuration
package import EventLoop
package import Log
package import Providers
internal import Setup
internal import System

/// The socket at which `bearerctl` asks: for root and the daemon's own user. One line in, the answer out, closed (T52).
///
/// A line is a command, or the verb of one and the name of a credential or, for `explain`, a request. An answer is `ok` or `error` and what there is to
/// say, on lines of its own; a command about a credential may send lines `progress TEXT` ahead of it.
package final class ControlSocket: ListenerDelegate, StreamDelegate {
  private var listener: Listener?
  /// Does what a line asks for, by the line; calls back once with the answer, perhaps at once.
  private let commands: [String: Command]
  /// By verb.
  private let credentialCommands: [String: CredentialCommand]
  /// By verb; each gets the rest of its line.
  private let queries: [String: Query]
  /// Names of the credentials in the configuration in use.
  private let credentials: () -> [String]
  private var connections: [ObjectIdentifier: Connection] = [:]
  /// Bytes: a request of `explain` is a whole head in hexadecimal digits.
  private static let maximumLine = 262_144
  private static let maximumConnections = 16
  /// Bytes: a peer that does not read gets no more progress.
  private static let maximumQueue = 65_536

  package typealias Command = (_ answer: @escaping (Result<[UInt8], StartError>) -> Void) -> Void
  /// Begins, perhaps ends at once, and else holds on to the exchange.
  package typealias CredentialCommand = (_ name: String, _ exchange: ControlExchange) -> Void
  package typealias Query = (_ text: String) -> Result<[UInt8], StartError>

  private struct Connection {
    let stream: EventLoop.Stream
    var input: [UInt8] = []
    var hasAsked = false
    var exchange: ControlExchange?
  }

  private let loop: Loop
  private let log: EventLog
  private var path: String?
  private var hasFollowed = false

  package init(
    loop: Loop, log: EventLog, commands: [String: Command], credentialCommands: [String: CredentialCommand],
    queries: [String: Query], credentials: @escaping () -> [String]
  ) {
    self.loop = loop
    self.log = log
    self.commands = commands
    self.credentialCommands = credentialCommands
    self.queries = queries
    self.credentials = credentials
  }

  /// Stands where these settings say; stays if it does already. Without a place for it, or when it cannot be had, there is
  /// none, and the log says so.
  package func follow(_ settings: Settings) {
    guard settings.hasControlSocket else { return }
    let wanted = settings.controlSocket ?? ControlPath.standard
    guard wanted != path || !hasFollowed else { return }
    hasFollowed = true
    closeListener()
    path = wanted
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

  private func closeConnections(where isMeant: (Connection) -> Bool) {
    for (key, connection) in connections where isMeant(connection) {
      connections[key] = nil
      connection.stream.close()
      connection.exchange?.cancel()
    }
  }

  package func listener(_ listener: Listener, didAccept stream: EventLoop.Stream) {
    let uid = CallerIdentity.ofPeer(descriptor: stream.descriptor)
    guard uid == 0 || uid == Users.currentUID else { return stream.close() }
    // A peer that connects and never asks must not keep others from asking. People who log in take their time.
    if connections.count >= ControlSocket.maximumConnections { closeConnections { $0.exchange == nil } }
    guard connections.count < ControlSocket.maximumConnections else { return stream.close() }
    connections[ObjectIdentifier(stream)] = Connection(stream: stream)
    stream.delegate = self
    stream.step = .control
    stream.startReading()
  }

  package func listener(_ listener: Listener, didFail error: UVError) {
    // No descriptors left: turn away who waits, or the loop would spin.
    listener.closeWaiting()
    listener.resume()
  }

  package func streamDidConnect(_ stream: EventLoop.Stream) {}

  package func stream(_ stream: EventLoop.Stream, didRead bytes: Span<UInt8>) {
    guard var connection = connections[ObjectIdentifier(stream)], !connection.hasAsked else { return }
    let known = connection.input.count
    for index in bytes.indices { connection.input.append(bytes[index]) }
    let end = connection.input[known...].firstIndex(of: UInt8(ascii: "\n"))
    connection.hasAsked = end != nil
    connections[ObjectIdentifier(stream)] = connection
    if let end {
      answer(String(decoding: connection.input[..<end], as: UTF8.self), on: stream)
    } else if connection.input.count > ControlSocket.maximumLine {
      finish(stream, "error\nThe request is too long.\n")
    }
  }

  private func answer(_ command: String, on stream: EventLoop.Stream) {
    if let carryOut = commands[command] { return carryOut { [unowned self] in finish(stream, $0) } }
    let words = command.split(separator: " ", maxSplits: 1).map(String.init)
    if words.count == 2, let query = queries[words[0]] { return finish(stream, query(words[1])) }
    guard words.count == 2, let carryOut = credentialCommands[words[0]] else {
      return finish(stream, .failure(.system("This daemon does not know that request.")))
    }
    let names = credentials()
    guard names.contains(words[1]) else {
      return finish(stream, .failure(.system(ControlSocket.noCredential(words[1], among: names))))
    }
    let exchange = ControlExchange { [unowned self] said in
      switch said {
      case .progress(let line): tell(stream, line)
      case .end(let result): finish(stream, result)
      }
    }
    connections[ObjectIdentifier(stream)]?.exchange = exchange
    carryOut(words[1], exchange)
  }

  private static func noCredential(_ name: String, among names: [String]) -> String {
    let guess = Suggestion.nearest(to: name, in: names).map { "did you mean \"\($0)\"?" }
    let all =
      switch names.count {
      case 0: "there are none"
      case 1: "there is only \"\(names[0])\""
      default: "there are \(names.joined(separator: ", "))"
      }
    let help = guess ?? all
    return "There is no credential \"\(name)\" in the configuration in use: \(help)"
  }

  /// The peer may have gone meanwhile.
  private func tell(_ stream: EventLoop.Stream, _ line: String) {
    guard connections[ObjectIdentifier(stream)] != nil, stream.queuedBytes < ControlSocket.maximumQueue else { return }
    stream.write(Array("progress \(line)\n".utf8).span)
  }

  /// The peer may have gone meanwhile.
  private func finish(_ stream: EventLoop.Stream, _ result: Result<[UInt8], StartError>) {
    guard connections[ObjectIdentifier(stream)] != nil else { return }
    switch result {
    case .success(let answer): finish(stream, "ok\n", answer)
    case .failure(let error): finish(stream, "error\n\(error)\n")
    }
  }

  private func finish(_ stream: EventLoop.Stream, _ word: String, _ answer: [UInt8] = []) {
    connections[ObjectIdentifier(stream)] = nil
    stream.write((Array(word.utf8) + answer).span)
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
