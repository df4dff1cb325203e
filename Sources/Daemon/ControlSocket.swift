internal import Configuration
internal import EventLoop
internal import System

/// Where `bearerctl` asks: a unix socket for root and the daemon's own user. One line in, the answer out, closed (T52).
final class ControlSocket: ListenerDelegate, StreamDelegate {
  private var listener: Listener?
  /// What each line that one may send does; it calls back once with the answer, perhaps at once.
  private let commands: [String: Command]
  private var connections: [ObjectIdentifier: (stream: EventLoop.Stream, input: [UInt8], hasAsked: Bool)] = [:]
  private static let maximumLine = 256

  typealias Command = (_ answer: @escaping (Result<[UInt8], StartError>) -> Void) -> Void

  private let loop: Loop
  private let journal: Journal
  private var path: String?
  private var hasFollowed = false

  init(loop: Loop, journal: Journal, commands: [String: Command]) {
    self.loop = loop
    self.journal = journal
    self.commands = commands
  }

  /// Stands where these settings say; stays if it does already. Without a place for it, or when it cannot be had, there is
  /// none, and the log says so.
  func follow(_ settings: Settings) {
    let wanted = settings.controlSocket ?? ControlPath.standard
    guard wanted != path || !hasFollowed else { return }
    hasFollowed = true
    closeListener()
    path = wanted
    guard let path else {
      journal.event(
        .warning, "no-control-socket", ("detail", "XDG_RUNTIME_DIR is not set"),
        ("help", "bearerctl reload and status need it: say control: PATH; SIGHUP reloads all the same"))
      return
    }
    do {
      let descriptor = try UnixSocket.listen(path: path, mode: 0o600, group: nil, backlog: 16)
      listener = try Listener(loop: loop, adopting: descriptor, isUnix: true)
      listener?.delegate = self
      try listener?.start()
      journal.event(.notice, "control", ("address", "unix:\(path)"))
    } catch {
      journal.event(
        .warning, "no-control-socket", ("path", path), ("detail", "\(error)"),
        (
          "help",
          "bearerctl reload and status need it: end what else listens there, make its directory, or say control: PATH; SIGHUP reloads all the same"
        ))
    }
  }

  private func closeListener() {
    guard let listener else { return }
    listener.close()
    self.listener = nil
    if let path { UnixSocket.remove(path: path) }
  }

  func close() {
    closeListener()
    for connection in connections.values { connection.stream.close() }
    connections = [:]
  }

  func listener(_ listener: Listener, didAccept stream: EventLoop.Stream) {
    let uid = CallerIdentity.ofPeer(descriptor: stream.descriptor)
    guard uid == 0 || uid == Users.currentUID else { return stream.close() }
    // Whoever connects and never asks must not keep others from asking.
    if connections.count >= 16 {
      for connection in connections.values { connection.stream.close() }
      connections = [:]
    }
    connections[ObjectIdentifier(stream)] = (stream, [], false)
    stream.delegate = self
    stream.startReading()
  }

  func listener(_ listener: Listener, didFail error: UVError) {
    // No descriptors left: turn away who waits, or the loop would spin.
    listener.turnAwayWaiting()
    listener.resume()
  }

  func streamDidConnect(_ stream: EventLoop.Stream) {}

  func stream(_ stream: EventLoop.Stream, didRead bytes: Span<UInt8>) {
    guard var connection = connections[ObjectIdentifier(stream)], !connection.hasAsked else { return }
    for index in bytes.indices { connection.input.append(bytes[index]) }
    let end = connection.input.firstIndex(of: UInt8(ascii: "\n"))
    connection.hasAsked = end != nil
    connections[ObjectIdentifier(stream)] = connection
    if let end {
      answer(String(decoding: connection.input[..<end], as: UTF8.self), on: stream)
    } else if connection.input.count > ControlSocket.maximumLine {
      finish(stream, "error\nThe request is too long.\n")
    }
  }

  private func answer(_ command: String, on stream: EventLoop.Stream) {
    guard let carryOut = commands[command] else {
      return finish(stream, "error\nThis daemon does not know that request.\n")
    }
    carryOut { [unowned self] result in
      // It may have gone meanwhile.
      guard connections[ObjectIdentifier(stream)] != nil else { return }
      switch result {
      case .success(let answer): finish(stream, "ok\n", answer)
      case .failure(let error): finish(stream, "error\n\(error)\n")
      }
    }
  }

  private func finish(_ stream: EventLoop.Stream, _ word: String, _ answer: [UInt8] = []) {
    connections[ObjectIdentifier(stream)] = nil
    stream.write((Array(word.utf8) + answer).span)
    stream.closeAfterFlush()
  }

  func streamDidEnd(_ stream: EventLoop.Stream) { drop(stream) }
  func streamDidDrain(_ stream: EventLoop.Stream) {}
  func stream(_ stream: EventLoop.Stream, didFail error: UVError) { drop(stream) }

  private func drop(_ stream: EventLoop.Stream) {
    connections[ObjectIdentifier(stream)] = nil
    stream.close()
  }
}

/// Where the control socket is when the configuration does not say.
package enum ControlPath {
  /// For a system daemon below `$RUNTIME_DIRECTORY` (systemd) or `/run/bearerd`, for a person's `$XDG_RUNTIME_DIR/bearerd-control.sock`; nil:
  /// nowhere.
  package static var standard: String? {
    if Users.currentUID < 1000 {
      return (ProcessEnvironment.value("RUNTIME_DIRECTORY") ?? "/run/bearerd") + "/control.sock"
    }
    // Not $RUNTIME_DIRECTORY, which a shell of the same person does not have.
    return ProcessEnvironment.value("XDG_RUNTIME_DIR").map { $0 + "/bearerd-control.sock" }
  }
}
