import Gateway
import HTTP1
import Policy
import Testing

/// One retry, only on a session that had been idle, only when nothing can have happened twice.
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
  func aStaleSessionIsReplacedOnce(request: String) throws {
    var played = try RetryTests.played(request)
    played.upstreamEnded()
    #expect(played.log.prefix(4) == ["open", "reused", "drop", "open fresh"])
    #expect(played.sessions.count == 2 && played.sessions[0] == played.sessions[1], "the same bytes again")
    played.upstreamEnded()
    #expect(played.answer.contains("upstream-closed") && played.records.last?.isRetried == true)
  }

  @Test(arguments: [
    get(method: "POST"), get("Content-Length: 2", method: "PUT") + "hi", get(method: "PATCH"), get(method: "FETCH"),
    get("Content-Length: 5", method: "PUT") + "h",
  ])
  func whatMayHaveHappenedIsNotRetried(request: String) throws {
    var played = try RetryTests.played(request)
    played.upstreamEnded()
    #expect(played.sessions.count == 1 && played.answer.contains("upstream-closed"))
  }

  @Test func aFreshSessionIsNotRetried() throws {
    var played = try RetryTests.played(get(), isReused: false)
    played.upstreamEnded()
    #expect(played.sessions.count == 1 && status(played.answer) == "502")
  }

  @Test func aByteOfAnAnswerForbidsIt() throws {
    var played = try RetryTests.played(get())
    played.upstream("H")
    played.upstreamEnded()
    #expect(played.sessions.count == 1 && status(played.answer) == "502")
  }

  @Test func aTimeoutIsNotRetried() throws {
    var played = try RetryTests.played(get())
    played.fact { $0.deadlinePassed(output: &$1) }
    #expect(played.sessions.count == 1 && status(played.answer) == "504")
  }

  @Test func whatWasNeverSentMayBeSentWhateverItIs() throws {
    var played = try RetryTests.played(get(method: "POST"))
    played.fact { $0.upstreamRefused(.plain(.upstreamClosed), output: &$1) }
    #expect(played.sessions.count == 2)
    played.upstream(ok())
    #expect(played.answer == ok())
  }

  @Test func aClosedDoorAnswersAndKeepsTheClient() throws {
    var played = try RetryTests.played(get("Content-Length: 2", method: "POST") + "hi")
    played.fact { $0.upstreamRefused(.plain(.credentialUnavailable), output: &$1) }
    #expect(status(played.answer) == "503" && played.records.last?.bytesUp == 0)
    #expect(played.phase == .awaitingHead && played.log.contains("drop"))
  }
}

@Suite struct EndingTests {
  @Test func aHalfCloseIsAnsweredAndThenClosed() throws {
    var played = exchange(get(), nil, try snapshot())
    played.fact { $0.clientEnded(output: &$1) }
    played.upstream(ok())
    #expect(value("Connection", played.answer) == "close" && played.log == ["open", "release", "record", "close"])
  }

  @Test func aHalfCloseWithinTheAnswerClosesToo() throws {
    var played = exchange(get(), "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nh", try snapshot())
    played.fact { $0.clientEnded(output: &$1) }
    played.upstream("i")
    #expect(played.log == ["open", "release", "record", "close"])
  }

  @Test func aHalfCloseBeforeTheSessionWaitsForTheBodyThatIsHeld() throws {
    for (body, isWhole) in [("hi", true), ("h", false)] {
      var played = Conversation(try snapshot())
      played.opensAtOnce = false
      played.client(get("Content-Length: 2", method: "POST") + body)
      played.fact { $0.clientEnded(output: &$1) }
      played.ready()
      #expect((played.phase == .exchanging) == isWhole)
      if !isWhole { #expect(played.request.isEmpty && played.log == ["open", "drop", "record", "close"]) }
    }
  }

  @Test func aHalfCloseWithinTheBodyGivesUp() throws {
    var played = exchange(get("Content-Length: 2", method: "POST") + "h", nil, try snapshot())
    played.fact { $0.clientEnded(output: &$1) }
    #expect(played.log == ["open", "drop", "record", "close"] && played.records.last?.status == 499)
  }

  @Test func aDrainWithinTheAnswerEndsTheConnectionBehindIt() throws {
    var played = exchange(get(), "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nh", try snapshot())
    played.fact { $0.drain(output: &$1) }
    played.upstream("i")
    #expect(played.log == ["open", "release", "record", "shutdown client"] && played.answer.hasSuffix("hi"))
  }

  @Test func aDrainBeforeTheAnswerSaysClose() throws {
    var played = exchange(get(), nil, try snapshot())
    played.fact { $0.drain(output: &$1) }
    played.upstream(ok())
    #expect(value("Connection", played.answer) == "close" && played.isOver)
  }

  @Test func aDrainClosesWhatIsIdleAndAnswersWhatHasBegun() throws {
    var idle = exchange(get(), ok(), try snapshot())
    idle.fact { $0.drain(output: &$1) }
    #expect(idle.log.last == "close")
    var begun = Conversation(try snapshot())
    begun.client("GET /api/x HTTP/1.1\r\n")
    begun.fact { $0.drain(output: &$1) }
    begun.client("Host: localhost:7070\r\n\r\n")
    begun.upstream(ok())
    #expect(value("Connection", begun.answer) == "close" && begun.isOver)
  }

  @Test func timeRunsForWhatIsAwaited() throws {
    var played = Conversation(try snapshot())
    played.opensAtOnce = false
    // Whoever connects and never asks holds a place as one does who never ends to ask.
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
    played.fact { $0.deadlinePassed(output: &$1) }
    #expect(played.log == ["open", "drop", "record", "reset"] && played.deadline == .none)
  }

  @Test func aHeadThatDoesNotComeIsAnswered() throws {
    var played = Conversation(try snapshot())
    played.client("GET / HT")
    played.fact { $0.deadlinePassed(output: &$1) }
    #expect(status(played.answer) == "408" && played.log == ["record", "shutdown client"])
  }

  @Test func aRevokedExchangeIsCut() throws {
    var played = exchange(get(), "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nh", try snapshot())
    played.fact { $0.revoked(output: &$1) }
    #expect(played.log == ["open", "drop", "record", "reset"])
  }
}

/// Each request is decided under one generation; one that was not authorised yet under the new one (T47).
@Suite struct ConfigurationChangeTests {
  @Test func aRequestThatWaitsIsDecidedAnew() throws {
    var played = Conversation(try snapshot())
    played.opensAtOnce = false
    played.client(get())
    let other = try snapshot(upstream: "https://new.test/", generation: 2)
    played.fact { $0.configurationChanged(other, output: &$1) }
    played.ready()
    #expect(played.request == "GET /x HTTP/1.1\r\nHost: new.test\r\n<credential>\r\n\r\n")
    #expect(played.log == ["open", "open"])
  }

  @Test func aServiceThatIsGoneRefusesIt() throws {
    var played = Conversation(try snapshot())
    played.opensAtOnce = false
    played.client(get())
    let gone = try snapshot(at: .path(Array("/else/".utf8)), generation: 2)
    played.fact { $0.configurationChanged(gone, output: &$1) }
    #expect(status(played.answer) == "404" && played.records.last?.route == nil && played.records.last?.generation == 2)
  }

  @Test func aRetryStaysFreshAfterAChange() throws {
    var played = Conversation(try snapshot())
    played.isReused = true
    played.client(get())
    played.opensAtOnce = false
    played.upstreamEnded()
    let same = played.snapshot
    played.fact { $0.configurationChanged(same, output: &$1) }
    #expect(played.log.suffix(2) == ["open fresh", "open fresh"])
  }

  @Test func aRunningOneIsStillAllowedOnlyWithTheSameEverything() throws {
    let played = exchange(get(), nil, try snapshot())
    #expect(played.isStillAllowed(by: try snapshot(generation: 2)))
    #expect(!played.isStillAllowed(by: try snapshot(upstream: "https://new.test/base/")))
    #expect(!played.isStillAllowed(by: try snapshot(fields: ["x-other"])))
    #expect(!played.isStillAllowed(by: try snapshot { $0.rules = [] }))
    #expect(!played.isStillAllowed(by: try snapshot { $0.callers = Callers(uids: [1]) }))
    #expect(!played.isStillAllowed(by: try snapshot { $0.trust.caFile = "/ca" }))
    #expect(!played.isStillAllowed(by: try snapshot(credential: .none)))
  }

  @Test func newLimitsHoldForTheNextHead() throws {
    var played = exchange(get(), ok(), try snapshot())
    var limits = HeadLimits()
    limits.fields = 1
    played.snapshot = try snapshot(limits: limits)
    played.client(get("A: 1", "B: 2"))
    #expect(played.records.last?.status == 431)
  }
}
