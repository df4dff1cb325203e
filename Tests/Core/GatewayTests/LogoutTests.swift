import Gateway
import HTTP1
import Policy
import Testing

/// Somebody ends the use of a credential while an exchange has it (T46).
@Suite struct LogoutTests {
  private func logOut(_ played: inout Conversation) { played.fact { $0.loggedOut(output: &$1) } }

  @Test func `T46: who waits is told that nothing was sent, once`() throws {
    var played = Conversation(try snapshot())
    played.opensAtOnce = false
    played.client(get())
    logOut(&played)
    #expect(status(played.answer) == "503" && played.answer.contains("error:login-required\""))
    #expect(played.log == ["open", "drop", "record"] && played.phase == .awaitingHead)
    logOut(&played)
    #expect(played.records.count == 1 && played.sessions.isEmpty)
  }

  @Test func `T46: who has no answer yet is told that it may have been carried out`() throws {
    var played = exchange(get(), nil, try snapshot())
    logOut(&played)
    #expect(status(played.answer) == "503" && played.answer.contains("error:logged-out\""))
    #expect(played.log == ["open", "drop", "record"] && played.phase == .awaitingHead)
  }

  @Test func `T46: of a request that went out once already nobody says that nothing was sent`() throws {
    var played = try RetryTests.played(get())
    played.opensAtOnce = false
    played.upstreamEnded()
    #expect(played.phase == .awaitingUpstream)
    logOut(&played)
    #expect(played.answer.contains("error:logged-out\"") && played.records.last?.isRetried == true)
  }

  @Test func `T46: half a request is answered, and its connection ends`() throws {
    var played = exchange(get("Content-Length: 5", method: "POST") + "he", nil, try snapshot())
    logOut(&played)
    #expect(played.answer.contains("error:logged-out\"") && played.phase == .lingering)
  }

  @Test func `T46: an answer that has begun is cut so that its reader can tell`() throws {
    var played = exchange(get(), "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", try snapshot())
    logOut(&played)
    #expect(played.log == ["open", "drop", "record", "reset"] && played.phase == .closed)
    #expect(played.records.last?.isAborted == true && played.records.last?.status == 200)
  }

  @Test func `T46: an answer that was held back does not go on`() throws {
    var played = Conversation(try snapshot())
    played.client(get())
    logOut(&played)
    played.upstream("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlate")
    #expect(!played.answer.contains("late"))
  }

  @Test func `who is between requests does not notice`() throws {
    var played = exchange(get(), "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", try snapshot())
    let log = played.log
    logOut(&played)
    #expect(played.log == log && played.phase == .awaitingHead)
  }
}
