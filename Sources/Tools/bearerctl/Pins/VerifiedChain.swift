internal import Console
internal import Policy
internal import System
internal import TLS

enum VerifiedChain {
  private static let seconds: UInt64 = 10

  /// Returns the verified chain. Throws `SocketError` or `TLSError`.
  static func of(_ upstream: Upstream, store: TrustStore) throws -> [CertificateDescription] {
    let origin = upstream.origin
    let host =
      switch upstream.hostToDial {
      case .name(let name): name
      case .address(let address): address.description
      }
    let socket = try BlockingSocket(host: host, port: origin.port, seconds: seconds)
    let identity = SessionIdentity(
      origin: origin, trust: TrustPolicy(), trustFingerprint: store.fingerprint, grant: nil, generation: 0)
    let context = try ClientContext(identity: identity, store: store)
    let output = OutputBuffer()
    let now = Moment(calendar: Clock.now.seconds, uptime: Int64(clamping: BootTimer.now / 1_000))
    var handshake = try context.handshake(sink: output, now: now)
    var input: [UInt8] = []
    while true {
      let progress = Result { try handshake.advance(input.span) }
      try socket.send(output.drain())  // also sends alerts
      if try progress.get() == .finished { break }
      input = try socket.receive()
      if input.isEmpty { throw handshake.inputEnded() }
    }
    var session = try handshake.verified(now: now)
    let chain = session.verifiedChain
    session.close()
    try? socket.send(output.drain())
    return chain
  }
}

private final class OutputBuffer: CiphertextSink {
  private var bytes: [UInt8] = []

  override func send(_ ciphertext: Span<UInt8>) {
    for index in ciphertext.indices { bytes.append(ciphertext[index]) }
  }

  func drain() -> [UInt8] {
    defer { bytes = [] }
    return bytes
  }
}
