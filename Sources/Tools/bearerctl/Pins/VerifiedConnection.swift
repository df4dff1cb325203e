internal import Console
internal import Credentials
internal import OAuth
internal import Policy
internal import Secrets
internal import System
internal import TLS

/// A connection to a server that is verified as the daemon verifies it. One time limit applies to all calls.
struct VerifiedConnection: ~Copyable {
  private static let seconds: UInt64 = 10

  private let socket: BlockingSocket
  private let output: OutputBuffer
  private var session: VerifiedSession

  /// Connects and verifies the server, also with its pins. Throws `SocketError` or `TLSError`.
  /// - Parameters:
  ///   - store: The authorities of `trust`.
  ///   - protocols: The protocols to offer. Only a connection that speaks HTTP/1.1 can send a request.
  ///   - served: Set to the certificates that the server sent, not verified, also if the function throws.
  init(
    _ upstream: Upstream, trust: TrustPolicy, store: TrustStore, protocols: [ApplicationProtocol] = [.http1],
    served: inout [CertificateDescription]
  ) throws {
    let origin = upstream.origin
    let host =
      switch upstream.hostToDial {
      case .name(let name): name
      case .address(let address): address.description
      }
    let socket = try BlockingSocket(host: host, port: origin.port, seconds: Self.seconds)
    let identity = SessionIdentity(
      origin: origin, trust: trust, trustFingerprint: store.fingerprint, grant: nil, generation: 0,
      protocols: protocols)
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
    session = try handshake.verified(now: now)
    self.socket = socket
    self.output = output
  }

  /// Connects, closes the connection, and returns the verified certificate chain, and what was verified. The parameters
  /// and errors are those of `init`.
  static func verify(
    _ upstream: Upstream, trust: TrustPolicy = TrustPolicy(), store: TrustStore,
    protocols: [ApplicationProtocol] = ServiceProtocol.auto.offered, served: inout [CertificateDescription]
  ) throws -> (chain: [CertificateDescription], proof: SessionProof) {
    // By default both versions, because some servers have only HTTP/2.
    var connection = try VerifiedConnection(
      upstream, trust: trust, store: store, protocols: protocols, served: &served)
    let verified = (connection.session.verifiedChain, connection.session.proof)
    connection.close()
    return verified
  }

  mutating func close() {
    session.close()
    try? socket.send(output.drain())
  }

  /// Sends a request, and returns its complete response. Throws `Failure` if the response is not valid, and otherwise
  /// `SocketError`, `SystemError` or `TLSError`.
  mutating func response(to request: borrowing TokenRequest) throws -> TokenResponseReceiver {
    let receiver = try TokenResponseReceiver(mustLock: false)
    do { try request.send(over: &session, now: Clock.now.seconds) } catch {
      throw Failure(Failure.no, "\(error.detail)")
    }
    try socket.send(output.drain())
    while true {
      let input = try socket.receive()
      let step = try step(input, receiver)
      try socket.send(output.drain())
      switch step {
      case .needsMore: break
      case .complete: return receiver
      case .malformed(let problem): throw Failure(Failure.no, problem)
      }
    }
  }

  private mutating func step(_ input: [UInt8], _ receiver: TokenResponseReceiver) throws -> TokenResponseReceiver.Step {
    if input.isEmpty { return receiver.inputEnded(isClean: false) }
    var plaintext: [UInt8] = []
    // Without room for all of it, the array would leave copies in memory.
    plaintext.reserveCapacity(4 * input.count + 16_384)
    defer { wipe(&plaintext) }
    let state = try session.decrypt(input.span, into: &plaintext)
    let step = receiver.receive(plaintext.span)
    return step == .needsMore && state == .closed ? receiver.inputEnded(isClean: true) : step
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
