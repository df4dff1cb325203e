import Gateway
import HTTP1
import Policy
import Testing

private let unavailable = ok(status: "503 Service Unavailable", body: "no")

/// Additional attempts after upstream failures (`retry` of a service).
@Suite struct UpstreamRetryTests {
  private func retrying(
    _ policy: RetryPolicy? = RetryPolicy(), credential: CredentialChoice = .inject(0), replayBuffer: Int? = nil,
    generation: UInt64 = 1, edit: (inout Service) -> Void = { _ in }
  ) throws -> Snapshot {
    try snapshot(credential: credential, generation: generation, replayBuffer: replayBuffer) {
      $0.retry = policy
      edit(&$0)
    }
  }

  private func due(_ played: Conversation) -> UInt64 { played.box.machine.relay.exchange.retryDue }

  /// Moves the clock to the next attempt.
  private func pass(_ played: inout Conversation) {
    played.now = due(played)
    played.apply { $0.deadlinePassed(output: &$1) }
  }

  @Test(arguments: [429, 502, 503, 504], ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"])
  func `a failed idempotent request is sent again, and the program gets only the last response`(
    status: Int, method: String
  ) throws {
    var played = exchange(get(method: method), nil, try retrying())
    let end = method == "HEAD" ? "" : "no"
    played.upstream("HTTP/1.1 \(status) No\r\nContent-Length: 2\r\n\r\n\(end)")
    #expect(played.phase == .awaitingRetry && played.deadline == .retry && played.received.isEmpty)
    #expect(played.log == ["open", "release", "wait"])
    #expect((125...250).contains(due(played)))
    pass(&played)
    #expect(played.sessions.count == 2 && played.sessions[0] == played.sessions[1])
    played.upstream("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n" + (method == "HEAD" ? "" : "hi"))
    #expect(GatewayTests.status(played.response) == "200" && played.phase == .awaitingHead)
    #expect(played.records.count == 1 && played.box.machine.relay.exchange.record.retries == 1)
    played.client(get())
    played.upstream(ok())
    #expect(played.records.count == 2 && played.box.machine.relay.exchange.record.retries == 0)
  }

  @Test(arguments: ["200 OK", "400 Bad", "401 No", "403 No", "500 Failed", "501 No", "505 No", "529 Overloaded"])
  func `other statuses are passed on`(status: String) throws {
    let played = exchange(get(), ok(status: status), try retrying())
    #expect(GatewayTests.status(played.response) == String(status.prefix(3)) && played.sessions.count == 1)
  }

  @Test func `a status that "on" does not list is passed on`() throws {
    let played = exchange(get(), unavailable, try retrying(RetryPolicy(on: [429])))
    #expect(status(played.response) == "503")
  }

  @Test func `a service without retry passes failures on`() throws {
    #expect(exchange(get(), unavailable, try retrying(nil)).response == unavailable)
  }

  @Test(arguments: ["POST", "PATCH", "LOCK"])
  func `a request that could act twice is not sent again after it was sent`(method: String) throws {
    let played = exchange(get(method: method), unavailable, try retrying())
    #expect(played.response == unavailable && played.sessions.count == 1)
    var broken = exchange(get(method: method), nil, try retrying())
    broken.apply { $0.upstreamFailed(.upstreamClosed, output: &$1) }
    #expect(status(broken.response) == "502" && broken.sessions.count == 1)
  }

  @Test(arguments: [nil, 65_536])
  func `the kept body is sent again with the same framing`(replayBuffer: Int?) throws {
    for request in [
      get("Content-Length: 5", method: "PUT") + "hello",
      get("Transfer-Encoding: chunked", method: "PUT") + "5\r\nhello\r\n0\r\n\r\n",
      get("Transfer-Encoding: chunked", method: "PUT") + "0\r\n\r\n",
    ] {
      var played = exchange(request, unavailable, try retrying(replayBuffer: replayBuffer))
      pass(&played)
      played.upstream(unavailable)
      pass(&played)
      #expect(played.sessions.count == 3 && played.sessions.allSatisfy { $0 == played.sessions[0] })
      #expect(!played.request.isEmpty)
      played.upstream(ok())
      #expect(played.response == ok() && played.isOver == false)
    }
  }

  @Test func `a request with a body longer than the buffer is not sent again`() throws {
    for (length, attempts) in [(8, 2), (9, 1)] {
      let body = String(repeating: "x", count: length)
      var played = Conversation(try retrying(RetryPolicy(replayBuffer: 8)))
      played.client(get("Content-Length: \(length)", method: "PUT"))
      for byte in body { played.client(String(byte)) }
      played.upstream(unavailable)
      if attempts == 2 { pass(&played) }
      #expect(played.sessions.count == attempts && (status(played.response) == "503") == (attempts == 1))
    }
  }

  @Test func `a response before the end of the request is passed on`() throws {
    let played = exchange(get("Content-Length: 5", method: "PUT") + "he", unavailable, try retrying())
    #expect(status(played.response) == "503" && played.sessions.count == 1)
  }

  @Test(
    arguments: [
      ("Retry-After: 2", 2_000), ("Retry-After: 10", 10_000), ("retry-after: 0", nil), ("Retry-After: soon", nil),
      ("Retry-After: -1", nil), ("Retry-After:", nil), ("Retry-After: 1.5", nil),
      ("Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nRetry-After: Sun, 06 Nov 1994 08:49:40 GMT", 3_000),
      ("Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nRetry-After: Sun, 06 Nov 1994 08:00:00 GMT", nil),
    ] as [(String, UInt64?)])
  func `Retry-After decides when the next attempt begins`(field: String, wait: UInt64?) throws {
    var played = Conversation(try retrying())
    played.now = 5_000
    played.client(get())
    played.upstream(ok(field, status: "429 Too Many Requests"))
    #expect(played.phase == .awaitingRetry)
    let waited = due(played) - 5_000
    #expect(wait.map { $0 == waited } ?? (125...250).contains(waited))
  }

  @Test(arguments: [
    "Retry-After: 11", "Retry-After: 99999999999999999999999999", "Retry-After: Sun, 06 Nov 2094 08:49:37 GMT",
    "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nRetry-After: Sun, 06 Nov 1994 08:49:48 GMT",
  ])
  func `a response whose Retry-After is later than at_most is passed on at once`(field: String) throws {
    let response = ok(field, status: "429 Too Many Requests")
    let played = exchange(get(), response, try retrying())
    #expect(played.response == response && played.records.count == 1)
  }

  @Test func `at_most limits all waits together`() throws {
    let response = ok("Retry-After: 4", status: "503 Service Unavailable")
    var played = exchange(get(), response, try retrying(RetryPolicy(attempts: 10)))
    var begun: [UInt64] = []
    while played.phase == .awaitingRetry, begun.count < 20 {
      pass(&played)
      begun.append(played.now)
      played.upstream(response)
    }
    #expect(begun == [4_000, 8_000] && played.response == response)
  }

  @Test func `waits without Retry-After double, and attempts limits their number`() throws {
    var played = exchange(get(), unavailable, try retrying(RetryPolicy(attempts: 4, atMost: 300_000)))
    for longest in [250, 500, 1_000, 2_000] as [UInt64] {
      let wait = due(played) - played.now
      #expect(wait <= longest && wait >= longest / 2)
      pass(&played)
      played.upstream(unavailable)
    }
    #expect(
      played.response == unavailable && played.sessions.count == 5
        && played.box.machine.relay.exchange.record.retries == 4)
  }

  @Test func `after a forwarded interim response, the response is passed on`() throws {
    let played = exchange(get(), "HTTP/1.1 103 Early Hints\r\n\r\n" + unavailable, try retrying())
    #expect(played.response.hasSuffix(unavailable) && played.sessions.count == 1)
  }

  @Test func `an upgrade request is not sent again`() throws {
    let request = get("Connection: upgrade", "Upgrade: websocket")
    #expect(status(exchange(request, unavailable, try retrying()).response) == "503")
    var unopened = Conversation(try retrying())
    unopened.opensImmediately = false
    unopened.client(request)
    unopened.apply { $0.upstreamRefused(.plain(.connectionRefused), output: &$1) }
    #expect(status(unopened.response) == "502")
  }

  @Test func `a session whose response is incomplete is closed`() throws {
    let played = exchange(
      get(), "HTTP/1.1 503 No\r\nContent-Length: 9\r\n\r\nno", try retrying())
    #expect(played.log == ["open", "drop", "wait"] && played.received.isEmpty)
  }

  // MARK: connection failures

  @Test(arguments: [
    RefusalCode.nameLookupFailed, .nameTimeout, .connectionRefused, .connectionFailed, .connectionTimeout,
    .handshakeFailed, .handshakeTimeout,
  ])
  func `a request without a connection is tried again, whatever its method`(code: RefusalCode) throws {
    var played = Conversation(try retrying())
    played.opensImmediately = false
    played.client(get("Content-Length: 5", method: "POST") + "hello")
    for _ in 0..<2 {
      played.apply { $0.upstreamRefused(.plain(code), output: &$1) }
      #expect(played.phase == .awaitingRetry)
      pass(&played)
      #expect(played.phase == .awaitingUpstream)
    }
    played.ready()
    #expect(played.request.hasSuffix("\r\n\r\nhello") && played.sessions.count == 1)
    played.upstream(unavailable)
    #expect(played.response == unavailable)
  }

  @Test func `the last failed connection gives the program its error`() throws {
    var played = Conversation(try retrying(RetryPolicy(attempts: 1)))
    played.opensImmediately = false
    played.client(get(method: "POST"))
    played.apply { $0.upstreamRefused(.plain(.connectionRefused), output: &$1) }
    pass(&played)
    played.apply { $0.upstreamRefused(.plain(.connectionRefused), output: &$1) }
    #expect(status(played.response) == "502" && played.records.count == 1)
  }

  @Test(arguments: [
    RefusalCode.pinMismatch, .certificateInvalid, .hostnameMismatch, .certificateRevoked, .addressForbidden,
    .tokenUnavailable, .credentialUnavailable, .loginRequired, .grantDenied, .tooManyRequests, .auditUnavailable,
    .nameNotFound,
  ])
  func `failed verifications and bearerd's own refusals are not retried`(code: RefusalCode) throws {
    var played = Conversation(try retrying())
    played.opensImmediately = false
    played.client(get())
    played.apply { $0.upstreamRefused(.plain(code), output: &$1) }
    #expect(played.phase == .awaitingHead && played.records.first?.refusal == .plain(code))
  }

  @Test func `a connection that breaks before the response is a failure, a broken response is not`() throws {
    var played = exchange(get(), nil, try retrying())
    played.upstreamEnded()
    #expect(played.phase == .awaitingRetry && played.log == ["open", "drop", "wait"])
    pass(&played)
    played.upstream("HTTP/1.1 2")
    played.upstreamEnded()
    #expect(status(played.response) == "502" && played.sessions.count == 2)
  }

  @Test func `a response_head timeout is not retried`() throws {
    var played = exchange(get(), nil, try retrying())
    played.apply { $0.deadlinePassed(output: &$1) }
    #expect(status(played.response) == "504" && played.sessions.count == 1)
  }

  // MARK: while a request waits

  @Test func `a client that disconnects cancels the next attempt`() throws {
    for event in [
      { $0.clientGone(output: &$1) }, { $0.clientClosed(output: &$1) }, { $0.clientEnded(output: &$1) },
    ] as [(inout RequestMachine, inout Output) -> Void] {
      var played = exchange(get(), unavailable, try retrying())
      played.apply(event)
      #expect(played.phase == .closed && played.records.map(\.status) == [499])
      played.apply { $0.deadlinePassed(output: &$1) }
      #expect(played.sessions.count == 1 && played.log.filter { $0 == "record" }.count == 1)
    }
  }

  @Test func `the response of a draining or half-closed connection is passed on`() throws {
    for event in [{ machine, _ in machine.drain() }, { $0.clientEnded(output: &$1) }]
      as [(inout RequestMachine, inout Output) -> Void]
    {
      var played = exchange(get(), nil, try retrying())
      played.apply(event)
      played.upstream(unavailable)
      #expect(status(played.response) == "503" && played.sessions.count == 1)
    }
  }

  @Test func `a reload keeps the wait if the request is still allowed`() throws {
    var played = exchange(get(), unavailable, try retrying())
    let (before, new) = (due(played), try retrying(nil, generation: 2))
    played.snapshot = new
    played.apply { $0.configurationChanged(new, output: &$1) }
    #expect(played.phase == .awaitingRetry && due(played) == before && played.sessions.count == 1)
    pass(&played)
    played.upstream(unavailable)
    #expect(status(played.response) == "503" && played.sessions.count == 2)
  }

  @Test func `a reload that removes the service ends the wait`() throws {
    var played = exchange(get(), unavailable, try retrying())
    let new = try snapshot(at: .path(Array("/other/".utf8)), generation: 2)
    played.apply { $0.configurationChanged(new, output: &$1) }
    #expect(status(played.response) == "404" && played.sessions.count == 1 && played.phase == .awaitingHead)
  }

  @Test func `logout, removed listener, total timeout and stop end the wait`() throws {
    for (code, event) in [
      (.loggedOut, { $0.loggedOut(output: &$1) }), (.listenerRemoved, { $0.listenerRemoved(output: &$1) }),
      (.upstreamTimeout, { $0.totalDeadlinePassed(output: &$1) }), (.draining, { $0.stopped(output: &$1) }),
    ] as [(RefusalCode, (inout RequestMachine, inout Output) -> Void)] {
      var played = exchange(get(), unavailable, try retrying())
      played.apply(event)
      #expect(played.records.map(\.refusal) == [.plain(code)] && played.sessions.count == 1)
    }
  }

  @Test func `a pipelined request waits for the response to the first`() throws {
    var played = exchange(get(target: "/api/1") + get(target: "/api/2"), unavailable, try retrying())
    #expect(played.phase == .awaitingRetry && played.pausesReadingWhenBuffered)
    pass(&played)
    played.upstream(ok())
    played.upstream(ok())
    #expect(played.response == ok() + ok() && played.request.contains("/base/2"))
  }

  @Test func `renewal and retries add up and do not multiply`() throws {
    let rejected = ok("WWW-Authenticate: Bearer", status: "401 Unauthorized", body: "no")
    var played = exchange(
      get("Content-Length: 2", method: "PUT") + "hi", unavailable,
      try retrying(RetryPolicy(attempts: 2), replayBuffer: 100))
    pass(&played)
    played.upstream(rejected)
    #expect(played.log.last == "renew")
    played.apply { $0.credentialRenewed(output: &$1) }
    played.upstream(unavailable)
    #expect(played.phase == .awaitingRetry)
    pass(&played)
    played.upstream(rejected)
    #expect(status(played.response) == "401" && played.sessions.count == 4)
    #expect(played.sessions.allSatisfy { $0 == played.sessions[0] })
  }

  @Test func `a stale connection does not count as an attempt`() throws {
    var played = Conversation(try retrying(RetryPolicy(attempts: 1)))
    played.isReused = true
    played.client(get())
    played.upstreamEnded()
    #expect(played.log == ["reused", "open", "drop", "open fresh"] || played.sessions.count == 2)
    played.isReused = false
    played.upstream(unavailable)
    #expect(played.phase == .awaitingRetry)
    pass(&played)
    played.upstream(unavailable)
    #expect(status(played.response) == "503" && played.sessions.count == 3)
  }
}
