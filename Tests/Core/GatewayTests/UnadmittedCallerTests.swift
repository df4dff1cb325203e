import HTTP1
import Policy
import Testing

@testable import Gateway

/// Callers that are not admitted are refused before their request is parsed, and their connection ends.
@Suite struct UnadmittedCallerTests {
  private let strangers: [Caller?] = [nil, Caller(uid: 77), .network]

  /// Returns `snapshot` with a listener that requires client tokens.
  private func withTokens() throws -> Snapshot {
    let plain = try snapshot()
    let digest = try #require(TokenDigest(parsing: "sha256/" + String(repeating: "A", count: 42) + "E="))
    return Snapshot(
      generation: 1, rules: plain.rules,
      admissions: [
        Admission(
          callers: Callers(uids: nil), authorities: plain.admissions[0].authorities,
          clients: [Client(name: "ci", digests: [digest])])
      ], headLimits: plain.headLimits, ownAuthorities: plain.ownAuthorities)
  }

  @Test func `T60: an unadmitted caller is refused at the first byte, and the connection ends`() throws {
    let inputs = ["G", "GET / HTTP/1.1\r\n", get(), "G@T / HTTP/9.9\r\n\r\n", "\u{16}\u{3}\u{1}", "\r\n"]
    for caller in strangers {
      for input in inputs {
        var conversation = Conversation(try snapshot(), caller: caller)
        conversation.client(input)
        #expect(status(conversation.response) == "403", "\(input.debugDescription)")
        #expect(value("Connection", conversation.response) == "close" && conversation.isOver)
        #expect(conversation.records.count == 1 && conversation.records[0].refusal?.isOfUnadmittedCaller == true)
        #expect(conversation.head.fields.isEmpty, "something was read")
        let answered = conversation.received.count
        conversation.client(get())
        #expect(conversation.received.count == answered, "a second answer")
      }
    }
  }

  @Test func `the response to an unadmitted caller's HEAD has no body`() throws {
    var conversation = Conversation(try snapshot(), caller: Caller(uid: 77))
    conversation.client(get(method: "HEAD"))
    #expect(status(conversation.response) == "403" && conversation.response.hasSuffix("\r\n\r\n"))
  }

  @Test func `T60: a network caller without a token is refused before its lists are parsed`() throws {
    for fields in ["X: y", "Connection: " + String(repeating: "a,", count: 30), "Connection: x-private"] {
      var conversation = Conversation(try withTokens(), caller: .network)
      conversation.client(get(fields))
      #expect(status(conversation.response) == "403" && conversation.isOver)
      #expect(conversation.response.contains("client-unknown"))
      #expect(conversation.box.machine.relay.exchange.forwarding.options.nominated.isEmpty, "\(fields.prefix(30))")
    }
  }

  @Test func `an admitted user keeps the connection after a request without a token`() throws {
    var conversation = Conversation(try withTokens(), caller: Caller(uid: 1000))
    for _ in 0..<3 { conversation.client(get()) }
    #expect(conversation.records.count == 3 && !conversation.isOver)
  }

  @Test func `a user who is no longer admitted is refused at the next request, and the connection ends`() throws {
    var conversation = Conversation(try snapshot(), caller: caller)
    conversation.ask()
    let plain = try snapshot(generation: 2)
    conversation.snapshot = Snapshot(
      generation: 2, rules: plain.rules,
      admissions: [Admission(callers: Callers(uids: [4]), authorities: plain.admissions[0].authorities)],
      headLimits: plain.headLimits, ownAuthorities: plain.ownAuthorities)
    conversation.client(get())
    #expect(conversation.records.last?.refusal == .policy(.callerNotAllowed(uid: 1000)) && conversation.isOver)
  }
}
