import HTTP1
import Policy
import Testing

@testable import Gateway

/// Callers who are not admitted: refused before their request costs anything, and without a connection to go on with.
@Suite struct StrangersTests {
  private let strangers: [Caller?] = [nil, Caller(uid: 77), .network]

  /// The listener of `snapshot`, asking for client tokens.
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

  @Test func `T60: a caller who is not admitted is refused at the first byte, whatever it sends, and closed`() throws {
    let inputs = ["G", "GET / HTTP/1.1\r\n", get(), "G@T / HTTP/9.9\r\n\r\n", "\u{16}\u{3}\u{1}", "\r\n"]
    for caller in strangers {
      for input in inputs {
        var conversation = Conversation(try snapshot(), caller: caller)
        conversation.client(input)
        #expect(status(conversation.answer) == "403", "\(input.debugDescription)")
        #expect(value("Connection", conversation.answer) == "close" && conversation.isOver)
        #expect(conversation.records.count == 1 && conversation.records[0].refusal?.isOfStranger == true)
        #expect(conversation.head.fields.isEmpty, "something was read")
        let answered = conversation.received.count
        conversation.client(get())
        #expect(conversation.received.count == answered, "a second answer")
      }
    }
  }

  @Test func `The answer to a stranger's HEAD has no body`() throws {
    var conversation = Conversation(try snapshot(), caller: Caller(uid: 77))
    conversation.client(get(method: "HEAD"))
    #expect(status(conversation.answer) == "403" && conversation.answer.hasSuffix("\r\n\r\n"))
  }

  @Test func `T60: without its token, a caller over a network is closed, and its lists are not taken apart`() throws {
    for fields in ["X: y", "Connection: " + String(repeating: "a,", count: 30), "Connection: x-private"] {
      var conversation = Conversation(try withTokens(), caller: .network)
      conversation.client(get(fields))
      #expect(status(conversation.answer) == "403" && conversation.isOver)
      #expect(conversation.answer.contains("client-unknown"))
      #expect(conversation.box.machine.exchange.forwarding.options.nominated.isEmpty, "\(fields.prefix(30))")
    }
  }

  @Test func `A user who is admitted keeps the connection after a request without a token`() throws {
    var conversation = Conversation(try withTokens(), caller: Caller(uid: 1000))
    for _ in 0..<3 { conversation.client(get()) }
    #expect(conversation.records.count == 3 && !conversation.isOver)
  }

  @Test func `A user who is not admitted any more is refused at the next request, and closed`() throws {
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
