internal import Console
internal import Policy
internal import Presets

/// Tests a key with a harmless request through a daemon.
struct KeyTrial {
  enum Outcome {
    case works(status: Int)
    case rejected(status: Int)
    /// The test gave no result, for this reason.
    case unknown(String)
  }

  private static let seconds: UInt64 = 30

  /// Sends the test request of a preset, and returns whether the provider accepts the key.
  static func run(_ added: AddedService, _ trial: Preset.Trial, _ service: Service, _ addresses: [String]) -> Outcome {
    guard let address = addresses.first else { return .unknown("not sent, because the listener has no address") }
    let target = service.mount.path + added.filled(trial.path)
    let host =
      if case .host(let host) = service.mount { host } else { address.hasPrefix("unix:") ? "localhost" : address }
    let lines =
      ["\(trial.method) \(target) HTTP/1.1", "Host: \(host)", "User-Agent: bearerctl", "Accept: */*"]
      + ["Connection: close"] + trial.headers.map { "\($0.name): \($0.value)" }
    do throws(SocketError) {
      let socket = try connection(to: address)
      try socket.send(Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8))
      return outcome(Reply(try head(from: socket)), rejected: trial.rejected)
    } catch { return .unknown("not sent: \(error.message.harmless)") }
  }

  private static func connection(to address: String) throws(SocketError) -> BlockingSocket {
    if address.hasPrefix("unix:") {
      return try BlockingSocket(unixPath: String(address.dropFirst("unix:".count)), seconds: seconds)
    }
    guard let colon = address.lastIndex(of: ":"), let port = UInt16(address[address.index(after: colon)...]) else {
      throw SocketError(kind: .failed, message: "\(address) is not an address")
    }
    let host = address[..<colon].drop { $0 == "[" }.prefix { $0 != "]" }
    return try BlockingSocket(host: String(host), port: port, seconds: seconds)
  }

  private static func head(from socket: borrowing BlockingSocket) throws(SocketError) -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < 65_536, case let piece = try socket.receive(), !piece.isEmpty {
      bytes += piece
      if String(decoding: bytes, as: UTF8.self).contains("\r\n\r\n") { break }
    }
    return bytes
  }

  private static func outcome(_ reply: Reply, rejected: Int) -> Outcome {
    let (status, code) = (reply.status, reply.code)
    if status == 0 { return .unknown("no response") }
    if code == "credential-rejected" || (code == nil && (status == 401 || status == rejected)) {
      return .rejected(status: status)
    }
    if let code {
      return .unknown("bearerd responded with \(status) (\(code)). \"bearerctl errors \(code)\" explains it")
    }
    switch status {
    case 200..<300: return .works(status: status)
    case 403:
      return .unknown(
        "the provider responded with 403: it knows the key, but the key has no permission for this request")
    default: return .unknown("the provider responded with \(status)")
    }
  }
}
