import Credentials
@_spi(SecretBytes) import Secrets
import Settings
import TestServer
import Glibc
@testable import OAuth
import Policy
import TLS
import TestSupport
import Testing

@Suite struct TokenRequestSendTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var endpoint = "https://login.test/token"
    var grant: String?
    var pins = Pins.none
    var wantedPins = Pins.none
    var now: Int64?
    var selected: ApplicationProtocol?
    let reason: AuthorizationError.Reason?
  }

  enum Pins { case none, matching, other, reported }

  static let rows = [
    Row(testDescription: "nothing", reason: nil),
    Row(testDescription: "nothing, with pins", pins: .matching, wantedPins: .matching, reason: nil),
    Row(testDescription: "nothing, with pins that only report", pins: .reported, wantedPins: .reported, reason: nil),
    Row(testDescription: "the host", endpoint: "https://other.test/token", reason: .originNotGranted),
    Row(testDescription: "the port", endpoint: "https://login.test:444/token", reason: .originNotGranted),
    Row(testDescription: "a session of a credential", grant: "mail", reason: .wrongSession),
    Row(testDescription: "a session without the pins", wantedPins: .matching, reason: .wrongSession),
    Row(testDescription: "a session with other pins", pins: .matching, wantedPins: .other, reason: .wrongSession),
    Row(testDescription: "a session that uses HTTP/2", selected: .http2, reason: .wrongSession),
    Row(testDescription: "the time", now: 4_000_000_000, reason: .proofExpired),
  ]

  @Test(arguments: rows) func `a token request is sent only over a session for its endpoint and trust`(_ row: Row)
    throws
  {
    let server = try Server(selectedProtocol: row.selected)
    var source = try source(.clientCredentials, .post(somewhere))
    source.endpoint = try Endpoint(parsing: row.endpoint)
    source.trust = try server.trust(row.wantedPins)
    let request = try TokenRequest.render(
      source, .token, try secrets([.clientSecret: "canary"]), at: moment, in: arena)
    var reason: AuthorizationError.Reason?
    do {
      var session = try server.session(trust: server.trust(row.pins), grant: row.grant)
      do throws(AuthorizationError) {
        try request.send(over: &session.verified, now: row.now ?? Int64(time(nil)))
      } catch {
        reason = error.reason
        #expect(!error.detail.contains("canary"))
      }
    }
    #expect(reason == row.reason)
    let received = server.finish()
    if row.reason == nil {
      #expect(received == request.bytes.withBytes { String(decoding: $0, as: UTF8.self) })
    } else {
      #expect(received == "")
    }
  }
}

/// A TLS server as `login.test`.
private final class Server {
  private let server: UpstreamServer
  private let store: TrustStore
  private let leaf: Certificate

  init(selectedProtocol: ApplicationProtocol?) throws {
    var options = Certificate.Options()
    options.dnsNames = ["login.test"]
    var serverOptions = UpstreamServer.Options()
    serverOptions.selectedProtocol = selectedProtocol?.rawValue
    leaf = try Certificate(options)
    store = try TrustStore(pem: Array(leaf.pem.utf8), name: "test")
    server = try UpstreamServer(
      chain: [leaf], options: serverOptions, handler: UpstreamServer.httpHandler(response: "HTTP/1.1 204 \r\n\r\n"))
  }

  deinit { server.stop() }

  func trust(_ pins: TokenRequestSendTests.Pins) throws -> TrustPolicy {
    var trust = TrustPolicy()
    let other = try #require(Pin(digest: Array(repeating: 7, count: 32)))
    switch pins {
    case .none: break
    case .matching: trust.pinning.pins = [try Pin(parsing: String(leaf.pin.dropFirst("sha256/".count)))]
    case .other: trust.pinning.pins = [other]
    case .reported: (trust.pinning.pins, trust.pinning.mode) = ([other], .report)
    }
    return trust
  }

  func session(trust: TrustPolicy, grant: String?) throws -> Session {
    let identity = SessionIdentity(
      origin: try Origin(parsing: "https://login.test"), trust: trust, trustFingerprint: store.fingerprint,
      grant: grant, generation: 1, protocols: [.http2, .http1])
    return try Session(ClientContext(identity: identity, store: store), port: server.port)
  }

  /// Stops the server, and returns the received bytes.
  func finish() -> String { server.finish().map { String(decoding: $0.bytes, as: UTF8.self) }.joined() }
}

/// A verified session over a blocking socket.
private struct Session: ~Copyable {
  var verified: VerifiedSession
  private let sink: SocketSink

  init(_ context: ClientContext, port: UInt16) throws {
    let sink = SocketSink(descriptor: try connectedSocket(port: port))
    let now = Moment(calendar: Int64(time(nil)), uptime: Int64(time(nil)))
    var handshake = try context.handshake(sink: sink, now: now)
    var progress = try handshake.advance([UInt8]().span)
    while progress == .wantsPeer { progress = try handshake.advance(receive(sink.descriptor).span) }
    verified = try handshake.verified(now: now)
    self.sink = sink
  }

  deinit { closeGently(sink.descriptor) }
}

private final class SocketSink: CiphertextSink {
  let descriptor: Int32

  init(descriptor: Int32) {
    self.descriptor = descriptor
    super.init()
  }

  override func send(_ ciphertext: Span<UInt8>) {
    ciphertext.withUnsafeBytes { _ = Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
  }
}
