internal import Console
internal import Policy
internal import System
internal import TLS

/// Gets a server's certificate chain by a TLS handshake.
enum VerifiedChain {
  private static let seconds: UInt64 = 10

  /// Verifies a server as the daemon does, also with its pins. Throws `SocketError` or `TLSError`.
  /// - Parameters:
  ///   - store: The authorities of `trust`.
  ///   - served: Set to the certificates that the server sent, not verified, also if the function throws.
  static func of(
    _ upstream: Upstream, trust: TrustPolicy = TrustPolicy(), store: TrustStore,
    served: inout [CertificateDescription]
  ) throws -> (chain: [CertificateDescription], proof: SessionProof) {
    let origin = upstream.origin
    let host =
      switch upstream.hostToDial {
      case .name(let name): name
      case .address(let address): address.description
      }
    let socket = try BlockingSocket(host: host, port: origin.port, seconds: seconds)
    let identity = SessionIdentity(
      origin: origin, trust: trust, trustFingerprint: store.fingerprint, grant: nil, generation: 0)
    let context = try ClientContext(identity: identity, store: store)
    let output = OutputBuffer()
    let now = Moment(calendar: Clock.now.seconds, uptime: Int64(clamping: BootTimer.now / 1_000))
    var handshake = try context.handshake(sink: output, now: now)
    var input: [UInt8] = []
    while true {
      let progress = Result { try handshake.advance(input.span) }
      served = handshake.servedChain
      try socket.send(output.drain())  // also sends alerts
      if try progress.get() == .finished { break }
      input = try socket.receive()
      if input.isEmpty { throw handshake.inputEnded() }
    }
    var session = try handshake.verified(now: now)
    let (chain, proof) = (session.verifiedChain, session.proof)
    session.close()
    try? socket.send(output.drain())
    return (chain, proof)
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
