import Gateway
import HTTP1
import Policy
import Testing

/// A logout ends the use of a credential during an exchange (T46).
@Suite struct LogoutTests {
  private func logOut(_ played: inout Conversation) { played.apply { $0.loggedOut(output: &$1) } }

  @Test func `T46: a waiting request is refused once, with login-required`() throws {
    var played = Conversation(try snapshot())
    played.opensImmediately = false
    played.client(get())
    logOut(&played)
    #expect(status(played.response) == "503" && played.response.contains("error:login-required\""))
    #expect(played.log == ["open", "drop", "record"] && played.phase == .awaitingHead)
    logOut(&played)
    #expect(played.records.count == 1 && played.sessions.isEmpty)
  }

  @Test func `T46: a request without a response is refused with logged-out`() throws {
    var played = exchange(get(), nil, try snapshot())
    logOut(&played)
    #expect(status(played.response) == "503" && played.response.contains("error:logged-out\""))
    #expect(played.log == ["open", "drop", "record"] && played.phase == .awaitingHead)
  }

  @Test func `T46: a request that waits for its retry is refused with logged-out`() throws {
    var played = try RetryTests.played(get())
    played.opensImmediately = false
    played.upstreamEnded()
    #expect(played.phase == .awaitingUpstream)
    logOut(&played)
    #expect(played.response.contains("error:logged-out\"") && played.records.last?.isRetried == true)
  }

  @Test func `T46: an incomplete request is refused, and its connection ends`() throws {
    var played = exchange(get("Content-Length: 5", method: "POST") + "he", nil, try snapshot())
    logOut(&played)
    #expect(played.response.contains("error:logged-out\"") && played.phase == .lingering)
  }

  @Test func `T46: a response that has begun is reset`() throws {
    var played = exchange(get(), "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", try snapshot())
    logOut(&played)
    #expect(played.log == ["open", "drop", "record", "reset"] && played.phase == .closed)
    #expect(played.records.last?.isAborted == true && played.records.last?.status == 200)
  }

  @Test func `T46: a response that arrives after the logout is not passed on`() throws {
    var played = Conversation(try snapshot())
    played.client(get())
    logOut(&played)
    played.upstream("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlate")
    #expect(!played.response.contains("late"))
  }

  @Test func `another value of the credential ends requests that were sent, and no others`() throws {
    func replace(_ played: inout Conversation) { played.apply { $0.credentialReplaced(output: &$1) } }
    var waiting = Conversation(try snapshot())
    waiting.opensImmediately = false
    waiting.client(get())
    replace(&waiting)
    #expect(waiting.received.isEmpty && waiting.phase == .awaitingUpstream)
    waiting.ready()
    #expect(waiting.request.contains("<credential>"))

    var sent = exchange(get(), nil, try snapshot())
    replace(&sent)
    #expect(status(sent.response) == "503" && sent.response.contains("error:credential-replaced\""))
    #expect(sent.log == ["open", "drop", "record"] && sent.phase == .awaitingHead)

    var renewing = exchange(
      get(), ok("WWW-Authenticate: Bearer error=\"invalid_token\"", status: "401 U"), try snapshot(replayBuffer: 16))
    #expect(renewing.log.contains("renew"))
    replace(&renewing)
    #expect(renewing.received.isEmpty)
    renewing.apply { $0.credentialRenewed(output: &$1) }
    renewing.upstream(ok(body: "new"))
    #expect(renewing.response.hasSuffix("new"))

    var begun = exchange(get(), "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", try snapshot())
    replace(&begun)
    #expect(begun.log == ["open", "drop", "record", "reset"] && begun.phase == .closed)

    var over = exchange(get(), "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", try snapshot())
    let log = over.log
    replace(&over)
    #expect(over.log == log && over.phase == .awaitingHead)
  }

  @Test func `a logout does not affect a connection between requests`() throws {
    var played = exchange(get(), "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", try snapshot())
    let log = played.log
    logOut(&played)
    #expect(played.log == log && played.phase == .awaitingHead)
  }
}
