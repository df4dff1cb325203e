import TestServer
import Policy
import TestSupport
import Testing

@testable import TLS

/// What OpenSSL has looked at already is looked at again by us: each of these would go wrong in OpenSSL first, so that
/// something has to be out of place from the start.
@Suite struct JudgementTests {
  let authority: Authority
  let store: TrustStore
  let server: UpstreamServer

  init() throws {
    authority = try Authority()
    store = try authority.store()
    server = try UpstreamServer(chain: [authority.leaf(), authority.intermediate], handler: echo)
  }

  /// A handshake with the SSL_CTX of one name, for the identity of another.
  @Test func `The name is compared whatever OpenSSL was told`() throws {
    defer { server.stop() }
    let (told, wanted) = (try context(store), try context(store, host: "other.test"))
    let sink = SocketSink(descriptor: try connectedSocket(port: server.port))
    let state = ConnectionState(origin: told.identity.origin, sink: sink, sessions: SessionCache())
    let connection = try TLSConnection(context: told.context, offering: nil, state: state)
    var handshake = Handshake(connection: connection, context: wanted, offered: nil)
    var progress = try handshake.advance([UInt8]().span)
    while progress == .wantsPeer { progress = try handshake.advance(receive(sink.descriptor).span) }
    var kind: TLSError.Kind?
    do throws(TLSError) { _ = try handshake.verified(now: moment()) } catch { kind = error.kind }
    #expect(kind == .hostnameMismatch)
    closeGently(sink.descriptor)
  }

  @Test func `A resumed session with another leaf than was judged is refused`() throws {
    defer { server.stop() }
    let context = try context(store)
    var client = try Client.connect(context, port: server.port)
    #expect(try client.exchange("hello") == "hello")
    client.closeNotify()
    let kept = try #require(context.sessions.offer(now: moment()))
    let forged = SessionVerdict(
      pins: .none, remark: nil, leafKey: [UInt8](repeating: 7, count: 32), verifiedAt: kept.verdict.verifiedAt,
      validity: kept.verdict.validity)
    context.discardSessions()
    // The session has a new owner
    keepForever(kept)
    context.sessions.keep(KeptSession(owning: kept.pointer, verdict: forged), epoch: context.sessions.epoch)
    let error = try #require(throws: TLSError.self) { _ = try Client.connect(context, port: server.port) }
    #expect(error.kind == .certificateInvalid)
    #expect(server.finish().map(\.isResumed) == [false, true])
  }
}
