import Gateway
import HTTP1
import Policy
import Testing

/// A request is retried once, only after an idle upstream connection, and only if it cannot be carried out twice.
@Suite struct RetryTests {
  static func played(_ request: String, isReused: Bool = true) throws -> Conversation {
    var played = Conversation(try snapshot())
    played.isReused = isReused
    played.client(request)
    return played
  }

  @Test(arguments: [
    get(), get(method: "HEAD"), get("Content-Length: 0", method: "PUT"),
    get("Content-Length: 5", "Expect: 100-continue", method: "PUT"),
    get("Transfer-Encoding: chunked", method: "PUT") + "0\r\nX-Sum: 1\r\n\r\n", get(method: "DELETE"),
  ])
  func `a request on a stale upstream connection is retried once`(request: String) throws {
    var played = try RetryTests.played(request)
    played.upstreamEnded()
    #expect(played.log.prefix(4) == ["open", "reused", "drop", "open fresh"])
    #expect(played.sessions.count == 2 && played.sessions[0] == played.sessions[1], "the same bytes again")
    played.upstreamEnded()
    #expect(played.response.contains("upstream-closed") && played.records.last?.isRetried == true)
  }

  @Test(arguments: [
    get(method: "POST"), get("Content-Length: 2", method: "PUT") + "hi", get(method: "PATCH"), get(method: "FETCH"),
    get("Content-Length: 5", method: "PUT") + "h",
  ])
  func `a request that the upstream may have carried out is not retried`(request: String) throws {
    var played = try RetryTests.played(request)
    played.upstreamEnded()
    #expect(played.sessions.count == 1 && played.response.contains("upstream-closed"))
  }

  @Test func `a request on a fresh upstream connection is not retried`() throws {
    var played = try RetryTests.played(get(), isReused: false)
    played.upstreamEnded()
    #expect(played.sessions.count == 1 && status(played.response) == "502")
  }

  @Test func `a request is not retried after the first byte of the response`() throws {
    var played = try RetryTests.played(get())
    played.upstream("H")
    played.upstreamEnded()
    #expect(played.sessions.count == 1 && status(played.response) == "502")
  }

  @Test func `a request is not retried after a timeout`() throws {
    var played = try RetryTests.played(get())
    played.apply { $0.deadlinePassed(output: &$1) }
    #expect(played.sessions.count == 1 && status(played.response) == "504")
  }

  @Test func `a request that was never sent is retried, whatever its method`() throws {
    var played = try RetryTests.played(get(method: "POST"))
    played.apply { $0.upstreamRefused(.plain(.upstreamClosed), output: &$1) }
    #expect(played.sessions.count == 2)
    played.upstream(ok())
    #expect(played.response == ok())
  }

  @Test func `an unavailable credential gets a 503, and the client's connection stays open`() throws {
    var played = try RetryTests.played(get("Content-Length: 2", method: "POST") + "hi")
    played.apply { $0.upstreamRefused(.plain(.credentialUnavailable), output: &$1) }
    #expect(status(played.response) == "503" && played.records.last?.bytesUp == 0)
    #expect(played.phase == .awaitingHead && played.log.contains("drop"))
  }
}

@Suite struct ConnectionEndTests {
  @Test func `a client that half-closes gets its response, then the connection ends`() throws {
    var played = exchange(get(), nil, try snapshot())
    played.apply { $0.clientEnded(output: &$1) }
    played.upstream(ok())
    #expect(value("Connection", played.response) == "close" && played.log == ["open", "release", "record", "close"])
  }

  @Test func `a half-close during the response ends the connection after the response`() throws {
    var played = exchange(get(), "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nh", try snapshot())
    played.apply { $0.clientEnded(output: &$1) }
    played.upstream("i")
    #expect(played.log == ["open", "release", "record", "close"])
  }

  @Test func `after a half-close, a waiting request is sent only if its body is complete`() throws {
    for (body, isWhole) in [("hi", true), ("h", false)] {
      var played = Conversation(try snapshot())
      played.opensImmediately = false
      played.client(get("Content-Length: 2", method: "POST") + body)
      played.apply { $0.clientEnded(output: &$1) }
      played.ready()
      #expect((played.phase == .exchanging) == isWhole)
      if !isWhole { #expect(played.request.isEmpty && played.log == ["open", "drop", "record", "close"]) }
    }
  }

  @Test func `a half-close within the request body aborts the exchange`() throws {
    var played = exchange(get("Content-Length: 2", method: "POST") + "h", nil, try snapshot())
    played.apply { $0.clientEnded(output: &$1) }
    #expect(played.log == ["open", "drop", "record", "close"] && played.records.last?.status == 499)
  }

  @Test func `draining during a response ends the connection after the response`() throws {
    var played = exchange(get(), "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nh", try snapshot())
    played.apply { machine, _ in machine.drain() }
    played.upstream("i")
    #expect(played.log == ["open", "release", "record", "shutdown client"] && played.response.hasSuffix("hi"))
  }

  @Test func `draining before the response adds Connection: close`() throws {
    var played = exchange(get(), nil, try snapshot())
    played.apply { machine, _ in machine.drain() }
    played.upstream(ok())
    #expect(value("Connection", played.response) == "close" && played.isOver)
  }

  @Test func `draining lets a request whose head has begun get its response`() throws {
    var begun = Conversation(try snapshot())
    begun.client("GET /api/x HTTP/1.1\r\n")
    begun.apply { machine, _ in machine.drain() }
    begun.client("Host: localhost:7070\r\n\r\n")
    begun.upstream(ok())
    #expect(value("Connection", begun.response) == "close" && begun.isOver)
  }

  @Test func `each phase of a connection has its own deadline`() throws {
    var played = Conversation(try snapshot())
    played.opensImmediately = false
    // A client that sends nothing also occupies a connection slot.
    #expect(played.deadline == .head)
    played.client("P")
    #expect(played.deadline == .head)
    played.client(get("Content-Length: 1", method: "UT"))
    #expect(played.deadline == .none)
    played.ready()
    #expect(played.deadline == .silence)
    played.client("x")
    #expect(played.deadline == .responseHead)
    played.upstream("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
    #expect(played.deadline == .silence)
    played.apply { $0.deadlinePassed(output: &$1) }
    #expect(played.log == ["open", "drop", "record", "reset"] && played.deadline == .none)
  }

  @Test func `a request head that takes too long gets a 408`() throws {
    var played = Conversation(try snapshot())
    played.client("GET / HT")
    played.apply { $0.deadlinePassed(output: &$1) }
    #expect(status(played.response) == "408" && played.log == ["record", "shutdown client"])
  }

  @Test func `a revoked exchange is reset`() throws {
    var played = exchange(get(), "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nh", try snapshot())
    played.apply { $0.revoked(output: &$1) }
    #expect(played.log == ["open", "drop", "record", "reset"])
  }
}

/// Each request is decided by one configuration: by the new one if it has not been sent yet (T47).
@Suite struct ConfigurationChangeTests {
  @Test func `a waiting request is decided again after a reload`() throws {
    var played = Conversation(try snapshot())
    played.opensImmediately = false
    played.client(get())
    let other = try snapshot(upstream: "https://new.test/", generation: 2)
    played.apply { $0.configurationChanged(other, output: &$1) }
    played.ready()
    #expect(played.request == "GET /x HTTP/1.1\r\nHost: new.test\r\n<credential>\r\n\r\n")
    #expect(played.log == ["open", "open"])
  }

  @Test func `a waiting request of a removed service is refused`() throws {
    var played = Conversation(try snapshot())
    played.opensImmediately = false
    played.client(get())
    let gone = try snapshot(at: .path(Array("/else/".utf8)), generation: 2)
    played.apply { $0.configurationChanged(gone, output: &$1) }
    #expect(
      status(played.response) == "404" && played.records.last?.route == nil && played.records.last?.generation == 2)
  }

  @Test func `a retry still uses a fresh upstream connection after a reload`() throws {
    var played = Conversation(try snapshot())
    played.isReused = true
    played.client(get())
    played.opensImmediately = false
    played.upstreamEnded()
    let same = played.snapshot
    played.apply { $0.configurationChanged(same, output: &$1) }
    #expect(played.log.suffix(2) == ["open fresh", "open fresh"])
  }

  @Test func `a running exchange stays allowed only if its route, credential and callers are unchanged`() throws {
    let played = exchange(get(), nil, try snapshot())
    #expect(played.isStillAllowed(by: try snapshot(generation: 2)))
    #expect(!played.isStillAllowed(by: try snapshot(upstream: "https://new.test/base/")))
    #expect(!played.isStillAllowed(by: try snapshot(fields: ["x-other"])))
    #expect(!played.isStillAllowed(by: try snapshot { $0.rules = [] }))
    #expect(!played.isStillAllowed(by: try snapshot { $0.callers = Callers(uids: [1]) }))
    #expect(!played.isStillAllowed(by: try snapshot { $0.trust.caFile = "/ca" }))
    #expect(!played.isStillAllowed(by: try snapshot(credential: .none)))
  }

  @Test func `changed limits apply to the next request head`() throws {
    var played = exchange(get(), ok(), try snapshot())
    var limits = HeadLimits()
    limits.fields = 1
    played.snapshot = try snapshot(limits: limits)
    played.client(get("A: 1", "B: 2"))
    #expect(played.records.last?.status == 431)
  }
}
