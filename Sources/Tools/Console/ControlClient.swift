/// Sends commands to the daemon's control socket.
package struct ControlClient {
  package enum Response {
    case ok(String)
    /// The daemon's error message, safe to print on a terminal.
    case error(String)
  }

  package let path: String
  /// An error in the configuration that names the socket. `path` may then be wrong.
  package let configurationError: String?
  /// What the user should do if no daemon responds.
  private let hint: String

  package init(
    path: String, configurationError: String? = nil,
    hint: String =
      "Is bearerd running? Only root and the daemon's own user may use this socket. To use another socket, add --control PATH or --config FILE"
  ) {
    self.path = path
    self.configurationError = configurationError
    self.hint = hint
  }

  /// Sends a command and returns the response. `seconds` limits the total time.
  /// - Parameter onProgress: Called for each progress line. The lines are safe to print.
  package func send(_ request: String, seconds: UInt64 = 60, onProgress: (String) -> Void = { _ in }) throws -> Response
  {
    let bytes: [UInt8]
    do throws(SocketError) {
      let socket = try BlockingSocket(unixPath: path, seconds: seconds)
      try socket.send(Array("\(request)\n".utf8))
      bytes = try ControlClient.receive(from: socket, onProgress)
    } catch {
      throw Failure(
        Failure.unavailable,
        """
        \(configurationError.map { $0 + "\n" } ?? "")no daemon answers at \(path): \(error.message)
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

  /// Sends a command and returns the response's text. Throws if the daemon reports an error.
  package func responseText(to request: String, seconds: UInt64 = 60) throws -> String {
    switch try send(request, seconds: seconds) {
    case .ok(let text): return text
    case .error(let reason): throw Failure(Failure.no, "the daemon at \(path) says: \(reason)")
    }
  }
}
