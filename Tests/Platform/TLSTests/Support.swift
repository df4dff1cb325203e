import Foundation
import TestServer
import Glibc
import Policy
import TLS
import TestSupport
import Testing

/// Returns the DER of a PEM block.
func decoded(_ pem: String) -> [UInt8] {
  Array(Data(base64Encoded: pem.split(separator: "\n").dropFirst().dropLast().joined()) ?? Data())
}

/// A root and an intermediate, which sign leaf certificates.
struct Authority {
  let root: Certificate
  let intermediate: Certificate

  init(_ name: String = "Test") throws {
    root = try Certificate(Self.options("\(name) Root"))
    intermediate = try Certificate(Self.options("\(name) Intermediate"), issuer: root)
  }

  private static func options(_ name: String) -> Certificate.Options {
    var options = Certificate.Options()
    options.commonName = name
    options.isCA = true
    return options
  }

  func leaf(
    _ dnsNames: [String] = ["upstream.test"], reusingKeyOf old: Certificate? = nil,
    change: (inout Certificate.Options) -> Void = { _ in }
  ) throws -> Certificate {
    var options = Certificate.Options()
    options.commonName = "leaf"
    options.dnsNames = dnsNames
    change(&options)
    return try Certificate(options, issuer: intermediate, reusingKeyOf: old)
  }

  func store() throws -> TrustStore { try TrustStore(pem: Array(root.pem.utf8), name: "test root") }
}

func selfSigned(change: (inout Certificate.Options) -> Void = { _ in }) throws -> Certificate {
  var options = Certificate.Options()
  options.dnsNames = ["upstream.test"]
  change(&options)
  return try Certificate(options)
}

func pinning(_ certificates: Certificate..., mode: PinPolicy.Mode = .enforce, expires: Int64? = nil) throws -> PinPolicy
{
  try pinning(certificates.map(\.pin), mode: mode, expires: expires)
}

func pinning(_ pins: [String], mode: PinPolicy.Mode = .enforce, expires: Int64? = nil) throws -> PinPolicy {
  var policy = PinPolicy()
  policy.pins = try pins.map { try Pin(parsing: String($0.dropFirst("sha256/".count))) }
  policy.mode = mode
  policy.expires = expires
  return policy
}

func context(
  _ store: TrustStore, host: String = "upstream.test", pinning: PinPolicy = PinPolicy(), grant: String? = nil,
  generation: UInt64 = 1, revocation: RevocationPolicy? = nil
) throws -> ClientContext {
  var trust = TrustPolicy()
  trust.pinning = pinning
  trust.revocation = revocation
  let origin = Origin(scheme: .https, host: try HostName(parsing: host), port: 443)
  let identity = SessionIdentity(
    origin: origin, trust: trust, trustFingerprint: store.fingerprint, grant: grant, generation: generation)
  return try ClientContext(identity: identity, store: store)
}

func unixTime() -> Int64 { Int64(time(nil)) }

/// A moment with the same time on both clocks, unless `uptime` differs.
func moment(_ time: Int64 = unixTime(), uptime: Int64? = nil) -> Moment {
  Moment(calendar: time, uptime: uptime ?? time)
}

/// Sends to a blocking socket.
final class SocketSink: CiphertextSink {
  let descriptor: Int32

  init(descriptor: Int32) {
    self.descriptor = descriptor
    super.init()
  }

  override func send(_ ciphertext: Span<UInt8>) {
    ciphertext.withUnsafeBytes { bytes in
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = Glibc.send(
          descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count, Int32(MSG_NOSIGNAL))
        guard count > 0 else { return }
        rest = rest.dropFirst(count)
      }
    }
  }
}

/// A blocking client over the module under test.
struct Client: ~Copyable {
  var session: VerifiedSession
  private let descriptor: Int32

  /// Connects and completes the handshake. `meddle` may change the bytes of the server. `now` and `start` are calendar
  /// times. `uptime` replaces the time of the second clock.
  static func connect(
    _ context: ClientContext, port: UInt16, now: Int64 = unixTime(), startingAt start: Int64 = unixTime(),
    uptime: Int64? = nil, evidence: EvidenceRecorder? = nil, meddle: ((inout [UInt8]) -> Void)? = nil
  ) throws -> Client {
    let descriptor = try connectedSocket(port: port)
    do {
      var handshake = try context.handshake(
        sink: SocketSink(descriptor: descriptor), now: moment(start, uptime: uptime), evidence: evidence)
      var progress = try handshake.advance([UInt8]().span)
      while progress == .wantsPeer {
        var input = receive(descriptor)
        if input.isEmpty { throw handshake.inputEnded() }
        if let meddle {
          meddle(&input)
          progress = try handshake.advance(input.span)
          // Without this, the server would wait for a response of the client.
          if progress == .wantsPeer { shutdown(descriptor, Int32(SHUT_WR)) }
        } else {
          progress = try handshake.advance(input.span)
        }
      }
      return Client(session: try handshake.verified(now: moment(now, uptime: uptime)), descriptor: descriptor)
    } catch {
      closeGently(descriptor)
      throw error
    }
  }

  private init(session: consuming VerifiedSession, descriptor: Int32) {
    self.session = session
    self.descriptor = descriptor
  }

  deinit { closeGently(descriptor) }

  mutating func write(_ text: String) throws {
    let bytes = Array(text.utf8)
    try session.write(bytes.span)
  }

  /// Reads `count` bytes or until the end, `step` bytes of ciphertext at a time.
  mutating func read(_ count: Int, step: Int = .max) throws -> (bytes: [UInt8], isClosed: Bool) {
    var plaintext: [UInt8] = []
    if try session.decrypt([UInt8]().span, into: &plaintext) == .closed { return (plaintext, true) }
    while plaintext.count < count {
      let input = receive(descriptor)
      if input.isEmpty { break }
      var start = 0
      while start < input.count {
        let end = step < input.count - start ? start + step : input.count
        let piece = Array(input[start..<end])
        if try session.decrypt(piece.span, into: &plaintext) == .closed { return (plaintext, true) }
        start = end
      }
    }
    return (plaintext, false)
  }

  /// Sends text to `echo` and reads the response. With TLS 1.3, the session tickets arrive with the response.
  mutating func exchange(_ text: String) throws -> String {
    try write(text)
    return String(decoding: try read(text.utf8.count).bytes, as: UTF8.self)
  }

  mutating func closeNotify() {
    session.close()
    shutdown(descriptor, Int32(SHUT_WR))
  }
}

/// Sends back all received bytes.
let echo: @Sendable (AcceptedConnection) -> Void = { connection in
  while let bytes = try? connection.read(), !bytes.isEmpty {
    do { try connection.write(bytes) } catch { return }
  }
}
