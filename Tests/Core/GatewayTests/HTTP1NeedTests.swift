import Policy
import Testing

@testable import Gateway

/// Requests that only a connection with HTTP/1.1 can carry.
@Suite struct HTTP1NeedTests {
  private func needsHTTP1(
    _ fields: String, credential: CredentialChoice = .inject(0), authRetry: AuthRetryReason = .expiry,
    edit: (inout Service) -> Void = { _ in }
  ) throws -> Bool {
    var conversation = Conversation(try snapshot(credential: credential, authRetry: authRetry, edit: edit))
    conversation.opensImmediately = false
    conversation.client(get(fields.isEmpty ? "X: y" : fields))
    #expect(conversation.phase == .awaitingUpstream)
    let route = try #require(conversation.route)
    return conversation.box.machine.relay.exchange.needsHTTP1 || conversation.snapshot.needsHTTP1(route)
  }

  private static let upgrade = "Connection: Upgrade\r\nUpgrade: websocket"
  private static let webSocket = upgrade + "\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="

  @Test(arguments: ["", "Upgrade: websocket", "TE: trailers\r\nConnection: TE", "Authorization: Bearer NTLM"])
  func `an ordinary request needs no HTTP/1.1`(fields: String) throws {
    for credential in [CredentialChoice.inject(0), .none, .pass] {
      #expect(try !needsHTTP1(fields, credential: credential))
    }
  }

  @Test func `an upgrade needs HTTP/1.1, unless the service does not allow it`() throws {
    #expect(try needsHTTP1(Self.upgrade))
    #expect(try !needsHTTP1(Self.upgrade) { $0.upgrades = [] })
    let spdy = try UpgradeProtocol(parsing: "SPDY/3.1")
    #expect(try needsHTTP1(Self.webSocket.replacing("websocket", with: "SPDY/3.1")) { $0.upgrades = [spdy] })
    #expect(try !needsHTTP1("Connection: Upgrade\r\nUpgrade: h2c"))
  }

  @Test(arguments: [
    "", "Sec-WebSocket-Key: dGhl", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAuthorization: NTLM TlRMTVNTUAAB",
  ])
  func `RFC 8441: only a WebSocket with a valid key and without a login can use HTTP/2`(fields: String) throws {
    #expect(try !needsHTTP1(Self.webSocket))
    #expect(try needsHTTP1(Self.upgrade + (fields.isEmpty ? "" : "\r\n") + fields))
  }

  @Test func `RFC 8441: a request whose method is signed needs HTTP/1.1`() throws {
    for signsForms in [true, false] {
      var conversation = Conversation(try snapshot(signsForms: signsForms))
      conversation.opensImmediately = false
      conversation.client(get(Self.webSocket))
      #expect(conversation.box.machine.relay.exchange.needsHTTP1 == signsForms)
      #expect(conversation.box.machine.relay.exchange.opensWebSocket == !signsForms)
    }
  }

  @Test(arguments: ["NTLM TlRMTVNTUAAB", "negotiate YII="])
  func `T25: a login by NTLM or Negotiate needs HTTP/1.1`(login: String) throws {
    for credential in [CredentialChoice.inject(0), .none, .pass] {
      #expect(try needsHTTP1("Authorization: \(login)", credential: credential))
    }
  }

  @Test func `T25: a service whose connections can be logged in uses HTTP/1.1 before the login`() throws {
    #expect(try needsHTTP1("", credential: .pass) { $0.options.dedicatedConnections = true })
    // The key has an effect only with `credential: pass`.
    #expect(try !needsHTTP1("") { $0.options.dedicatedConnections = true })
  }

  @Test func `T25: a credential that is sent only after a challenge needs HTTP/1.1`() throws {
    #expect(try needsHTTP1("", authRetry: .challenged(.basic)))
    #expect(try !needsHTTP1("", credential: .none, authRetry: .challenged(.basic)))
    #expect(try !needsHTTP1("", authRetry: .digest([.sha256])))
  }
}
