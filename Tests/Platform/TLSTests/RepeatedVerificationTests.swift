import TestServer
import Policy
import TestSupport
import Testing

@testable import TLS

/// bearerd repeats checks that OpenSSL has already made. To reach the repeated checks, each test bypasses OpenSSL's own
/// check.
@Suite struct RepeatedVerificationTests {
  let authority: Authority
  let store: TrustStore
  let server: UpstreamServer

  init() throws {
    authority = try Authority()
    store = try authority.store()
    server = try UpstreamServer(chain: [authority.leaf(), authority.intermediate], handler: echo)
  }

  /// A handshake with the `SSL_CTX` for one name and the identity of another name.
  @Test func `the host name is checked independently of OpenSSL`() throws {
    defer { server.stop() }
    let (openSSL, expected) = (try context(store), try context(store, host: "other.test"))
    let sink = SocketSink(descriptor: try connectedSocket(port: server.port))
    let state = ConnectionState(
      origin: openSSL.identity.origin, protocols: [.http1], sink: sink, sessions: SessionCache())
    let connection = try TLSConnection(context: openSSL.context, offering: nil, state: state)
    var handshake = Handshake(connection: connection, context: expected, offered: nil)
    var progress = try handshake.advance([UInt8]().span)
    while progress == .wantsPeer { progress = try handshake.advance(receive(sink.descriptor).span) }
    var kind: TLSError.Kind?
    do throws(TLSError) { _ = try handshake.verified(now: moment()) } catch { kind = error.kind }
    #expect(kind == .hostnameMismatch)
    closeGently(sink.descriptor)
  }

  @Test func `a resumed session with a different leaf certificate is refused`() throws {
    defer { server.stop() }
    let context = try context(store)
    var client = try Client.connect(context, port: server.port)
    #expect(try client.exchange("hello") == "hello")
    client.closeNotify()
    let kept = try #require(context.sessions.offer(now: moment()))
    let forged = SessionVerdict(
      pins: .none, matchedPin: nil, remark: nil, leafKey: [UInt8](repeating: 7, count: 32),
      verifiedAt: kept.verdict.verifiedAt, validity: kept.verdict.validity, leafValidity: kept.verdict.leafValidity)
    context.discardSessions()
    // `CachedSession` below takes over the pointer. Without this call, the session would be freed twice.
    keepForever(kept)
    context.sessions.insert(CachedSession(owning: kept.pointer, verdict: forged), epoch: context.sessions.epoch)
    let error = try #require(throws: TLSError.self) { _ = try Client.connect(context, port: server.port) }
    #expect(error.kind == .certificateInvalid)
    #expect(server.finish().map(\.isResumed) == [false, true])
  }
}
