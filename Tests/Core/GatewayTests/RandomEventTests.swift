import Gateway
import HTTP1
import Policy
import TestSupport
import Testing

@Suite struct RandomEventTests {
  @Test(arguments: 0..<40)
  func `random events never trap, and every request gets one response or ends its connection`(seed: Int) throws {
    var random = SeededGenerator(state: UInt64(seed) &* 1_000_003)
    let snapshots = try worlds()
    for _ in 0..<60 {
      var played = Conversation(snapshots.randomElement(using: &random) ?? snapshots[0])
      played.opensImmediately = Bool.random(using: &random)
      for _ in 0..<Int.random(in: 1...40, using: &random) {
        played.isReused = Bool.random(using: &random)
        act(&played, snapshots, &random)
        #expect(
          played.log.count { ["release", "drop", "reset upstream"].contains($0) } <= played.records.count
            + played.log.count { ["open fresh", "wait"].contains($0) })
      }
      // Every decided request has one record. At most one request is still running.
      let isRunning = [.awaitingUpstream, .awaitingRetry, .exchanging, .upgraded].contains(played.phase)
      #expect(played.begun <= played.records.count + (isRunning ? 1 : 0))
      check(played, isRunning)
    }
  }

  /// Checks that the client got one complete response for each record, in order. Only the last response may be
  /// incomplete.
  private func check(_ played: Conversation, _ isRunning: Bool) {
    var rest = played.received[...]
    for record in played.records where !rest.isEmpty {
      let isWhole = take(&rest, answering: record.method)
      #expect(isWhole || rest.isEmpty && (record.isAborted || record.status == 499), "\(played.log) \(played.response)")
    }
    if !rest.isEmpty, isRunning { _ = take(&rest, answering: played.head.method) }
    #expect(rest.isEmpty, "\(played.log) \(played.response)")
    #expect(played.log.count { $0 == "close" || $0 == "reset" } <= 1)
    if let end = played.log.firstIndex(where: { $0 == "close" || $0 == "reset" }) {
      #expect(end == played.log.count - 1)
    }
  }

  /// Removes interim responses and one final response from the beginning of `bytes`. Returns whether the final response
  /// is complete.
  private func take(_ bytes: inout ArraySlice<UInt8>, answering method: Method) -> Bool {
    var head = ResponseHead()
    repeat {
      let input = Array(bytes)
      var reader = HeadReader(limits: HeadLimits())
      guard let taken = try? reader.readResponse(input.span, into: &head) else {
        bytes = []
        return false
      }
      bytes = bytes.dropFirst(taken)
      if head.status == 101 {
        // The remaining bytes belong to the upgraded connection.
        bytes = []
        return true
      }
    } while head.status < 200
    let input = Array(bytes)
    let length = head.bodyLength(respondingTo: method)
    var body = BodyReader(length)
    var position = 0
    while !body.isComplete {
      guard let step = try? body.next(input.span, position: &position) else { return false }
      if step == .needsMore {
        bytes = []
        return length == .untilClose
      }
    }
    bytes = bytes.dropFirst(position)
    return true
  }

  private func act(_ played: inout Conversation, _ snapshots: [Snapshot], _ random: inout SeededGenerator) {
    let snapshot = snapshots.randomElement(using: &random) ?? played.snapshot
    let refusals: [RefusalCode] = [.upstreamClosed, .connectionRefused, .credentialUnavailable, .upstreamTimeout]
    let refusal = refusals.randomElement(using: &random) ?? .internalError
    switch Int.random(in: 0..<40, using: &random) {
    case 0..<14: played.client(piece(clientPieces, &random))
    case 14..<28: played.upstream(piece(upstreamPieces, &random))
    case 28..<31: if played.phase == .awaitingUpstream { played.ready() }
    case 31: played.apply { $0.upstreamRefused(.plain(refusal), output: &$1) }
    case 32: played.apply { $0.upstreamFailed(refusal, output: &$1) }
    case 33: played.upstreamEnded(isClean: true)
    case 34: played.upstreamEnded(isClean: false)
    case 35: played.apply { $0.deadlinePassed(output: &$1) }
    case 36:
      played.snapshot = snapshot
      played.apply { $0.configurationChanged(snapshot, output: &$1) }
      _ = played.isStillAllowed(by: snapshot)
    case 37:
      if Int.random(in: 0..<4, using: &random) == 0 { played.apply { $0.clientEnded(output: &$1) } }
    case 38:
      switch Int.random(in: 0..<8, using: &random) {
      case 0: played.apply { $0.clientGone(output: &$1) }
      case 1: played.apply { $0.clientClosed(output: &$1) }
      default: break
      }
    default:
      switch Int.random(in: 0..<4, using: &random) {
      case 0: played.apply { machine, _ in machine.drain() }
      case 1: played.apply { $0.revoked(output: &$1) }
      case 2: played.apply { $0.totalDeadlinePassed(output: &$1) }
      case 3: if Int.random(in: 0..<4, using: &random) == 0 { played.apply { $0.loggedOut(output: &$1) } }
      default: break
      }
    }
  }

  /// Returns a random piece, sometimes truncated or with one changed byte.
  private func piece(_ pieces: [String], _ random: inout SeededGenerator) -> [UInt8] {
    var bytes = Array((pieces.randomElement(using: &random) ?? "").utf8)
    if Int.random(in: 0..<3, using: &random) == 0 {
      bytes = Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random)))
    }
    if Int.random(in: 0..<8, using: &random) == 0, let index = bytes.indices.randomElement(using: &random) {
      bytes[index] = UInt8.random(in: 0...255, using: &random)
    }
    return bytes
  }

  private let clientPieces = [
    get(), get(), get(target: "/none"), get(target: "/api/?q&api_key=%zz%6"), get(method: "HEAD"),
    get(target: "*", method: "OPTIONS"),
    get("Content-Length: 4", method: "POST"), "abcd", "ab", get("Transfer-Encoding: chunked", method: "PUT"),
    "3\r\nabc\r\n",
    "0\r\n\r\n", "0\r\nX-A: 1\r\n\r\n", "GET /api/x HT", "TP/1.1\r\nHost: localhost:7070\r\n\r\n", "\r\n",
    get("Connection: close"),
    get(version: "1.0"), get("Connection: keep-alive", version: "1.0"), get("Connection: Host"),
    get("TE: trailers", "Connection: a,,\"b"),
    get("Expect: 100-continue", "Content-Length: 4", method: "PUT"), get(target: "http://localhost:7070"),
    get(target: "/api/in/%2F;x//"), get("Connection: upgrade", "Upgrade: websocket"),
    get("Connection: upgrade", "Upgrade: websocket", "Content-Length: 2", method: "POST"),
  ]

  private let upstreamPieces = [
    ok(), ok(), ok("Location: ../../..//x", "Link: <<>>, <", "Refresh: ;url", "Set-Cookie: ;=;;path=;path"),
    "HTTP/1.1 200 OK\r\n",
    "Content-Length: 4\r\n\r\n", "abcd", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "4\r\nabcd\r\n",
    "0\r\n\r\n",
    "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 103 E\r\nLink: </base/>\r\n\r\n", "HTTP/1.1 204 N\r\n\r\n",
    "HTTP/1.1 200 OK\r\n\r\n",
    "HTTP/1.0 200 OK\r\n\r\nabc", "HTTP/1.1 302 F\r\nLocation: http://localhost:7070/\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 101 S\r\n\r\n", "HTTP/1.1 401 U\r\nWWW-Authenticate: x\r\nContent-Length: 0\r\n\r\n",
    ok(status: "503 S"), ok("Retry-After: 1", status: "429 T"),
    "HTTP/1.1 999 ?\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\n", "0\r\nX-A: 1\r\nLink: <//>\r\n\r\n",
    ok("Connection: close"), "HTTP/1.1 101 S\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\nraw",
  ]

  private func worlds() throws -> [Snapshot] {
    var limits = HeadLimits()
    limits.headBytes = 100
    return [
      try snapshot { $0.options.cookies = .pass },
      try snapshot(at: .whole, upstream: "https://up.test/", credential: .pass, generation: 2),
      try snapshot(generation: 3, more: [try service("in", at: "/api/in/", upstream: "http://127.0.0.1:9/")]) {
        $0.headers.onClientHeader = .keep
        $0.options.onRejected = .status502
      },
      try snapshot(at: .host("api.localhost"), generation: 4, limits: limits),
      try snapshot(generation: 5) { $0.retry = RetryPolicy(attempts: 3, replayBuffer: 6) },
    ]
  }
}
