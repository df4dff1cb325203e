/// Asks the daemon: one line there, the answer back.
package struct ControlClient {
  package enum Answer {
    case ok(String)
    /// The daemon's reason, fit for a terminal.
    case error(String)
  }

  package let path: String
  /// Why the configuration did not say where to ask.
  package let broken: String?
  /// What a person should do if no daemon answers.
  private let hint: String

  package init(
    path: String, broken: String? = nil,
    hint: String =
      "Is bearerd running? Only root and the daemon's own user may use this socket. To use another socket, add --control PATH or --config FILE"
  ) {
    self.path = path
    self.broken = broken
    self.hint = hint
  }

  /// - Parameters:
  ///   - seconds: for all of it.
  ///   - onProgress: a line of what goes on, fit for a terminal, as soon as it comes: of commands about a credential.
  package func ask(_ request: String, seconds: UInt64 = 60, onProgress: (String) -> Void = { _ in }) throws -> Answer {
    let bytes: [UInt8]
    do throws(SocketError) {
      let socket = try BlockingSocket(unixPath: path, seconds: seconds)
      try socket.send(Array("\(request)\n".utf8))
      bytes = try ControlClient.receive(from: socket, onProgress)
    } catch {
      throw Failure(
        Failure.unavailable,
        """
        \(broken.map { $0 + "\n" } ?? "")no daemon answers at \(path): \(error.message)
        (\(hint))
        """)
    }
    guard !bytes.isEmpty else {
      throw Failure(Failure.unavailable, "the program at \(path) ended before it answered")
    }
    let end = bytes.firstIndex(of: UInt8(ascii: "\n")) ?? bytes.endIndex
    let rest = String(decoding: bytes[end...].dropFirst(), as: UTF8.self)
    switch String(decoding: bytes[..<end], as: UTF8.self) {
    case "ok": return .ok(rest)
    case "error":
      return .error(rest.split(separator: "\n").map { String($0).harmless }.joined(separator: "\n"))
    default: throw Failure(Failure.unavailable, "the program at \(path) is not bearerd")
    }
  }

  /// The answer, without the lines of progress ahead of it.
  private static func receive(
    from socket: borrowing BlockingSocket, _ onProgress: (String) -> Void
  ) throws(SocketError) -> [UInt8] {
    let mark = Array("progress ".utf8)
    var (bytes, mayBeProgress) = ([UInt8](), true)
    while case let piece = try socket.receive(), !piece.isEmpty {
      bytes += piece
      while mayBeProgress, let end = bytes.firstIndex(of: UInt8(ascii: "\n")) {
        mayBeProgress = bytes.starts(with: mark)
        guard mayBeProgress else { break }
        onProgress(String(decoding: bytes[mark.count..<end], as: UTF8.self).harmless)
        bytes.removeFirst(end + 1)
      }
      guard bytes.count <= maximum else { throw SocketError(kind: .failed, message: "the answer is too long") }
    }
    return bytes
  }

  private static let maximum = 16 << 20

  /// Asks what cannot fail unless the daemon is another version.
  package func demand(_ request: String, seconds: UInt64 = 60) throws -> String {
    switch try ask(request, seconds: seconds) {
    case .ok(let text): return text
    case .error(let reason): throw Failure(Failure.no, "the daemon at \(path) says: \(reason)")
    }
  }
}
