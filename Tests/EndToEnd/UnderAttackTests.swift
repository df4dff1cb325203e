import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// Loads that are bounded in number and time. While each goes on, somebody else is served as ever (T54).
@Suite(.waits, .serialized) struct UnderAttack {
  static let other = 7_117

  private func start(_ stage: Stage, _ limits: String = "") throws {
    try stage.start(
      stage.configuration(service: "timeouts: { body_silence: 20s }", more: limits).replacing(
        "allow_users: [\(getuid())]", with: "allow_users: [\(getuid()), \(Self.other)]"))
  }

  /// A program of another user, where the tests may be another user.
  private func anotherIsServed(_ stage: Stage) throws -> Bool {
    guard isRoot else { return try stage.get("/api/other").status == 200 }
    return try stage.ask(as: Stage.user(Self.other), target: "/api/other").output.hasPrefix("HTTP/1.1 200 ")
  }

  private func assertCanary(_ stage: Stage) {
    stage.assertCanary(times: stage.recorded.components(separatedBy: stage.canary).count - 1)
  }

  /// As many as this machine's descriptors allow, up to `wanted`: the daemon and the test have the same limit.
  private func affordable(_ wanted: Int) -> Int {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    limit.rlim_cur = limit.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    return min(wanted, Int(clamping: limit.rlim_max) / 4)
  }

  @Test func `T54: 5,000 idle connections cost little and delay nobody`() throws {
    let count = affordable(5_000)
    let stage = try Stage()
    try start(stage)
    #expect(try anotherIsServed(stage))
    let before = (memory: stage.observed.resident, descriptors: stage.observed.descriptors)
    var idle: [RawClient] = []
    for _ in 0..<count { idle.append(try stage.raw()) }
    // Each has been taken, and each still works: the last one asks.
    try idle[count - 1].send(stage.head("GET"))
    #expect(try idle[count - 1].answer().body == "hello")
    #expect(stage.observed.descriptors >= count)
    #expect(try anotherIsServed(stage))
    #expect(stage.observed.hasGrown(since: before.memory, byLessThan: 48 * 1_024))
    #expect(!stage.observed.spins())
    for client in idle { client.close() }
    #expect(eventually { stage.observed.descriptors <= before.descriptors + 4 })
    #expect(try anotherIsServed(stage))
    assertCanary(stage)
  }

  @Test func `T54: heads that drip are cut, and delay nobody`() throws {
    let stage = try Stage()
    try start(stage, "limits: { client_head: 2s }")
    let before = stage.observed.descriptors
    var dripping = try (0..<300).map { _ in try stage.raw() }
    for client in dripping { try client.send("GET /api/x HTTP/1.1\r\nX-Slow: ") }
    var cut = 0
    let end = ContinuousClock.now + .seconds(30)
    while !dripping.isEmpty, ContinuousClock.now < end {
      dripping.removeAll { client in
        if (try? client.send("x")) != nil, client.readWithoutWaiting().isEmpty { return false }
        cut += 1
        return true
      }
      #expect(try anotherIsServed(stage))
    }
    #expect(cut == 300)
    #expect(eventually { stage.observed.descriptors <= before + 8 })
    #expect(stage.log.wait(for: .request, ["status": 408], count: 300))
    assertCanary(stage)
  }

  @Test func `T54: connections that are reset at every moment leave nothing behind`() throws {
    let stage = try Stage { connection in
      while let (head, rest) = connection.head() {
        guard head.contains("PUT") else {
          connection.answer("hello")
          continue
        }
        var got = rest.count
        while got < 100_000, let more = try? connection.read(), !more.isEmpty { got += more.count }
        connection.answer("hello")
      }
    }
    try start(stage)
    #expect(try anotherIsServed(stage))
    let before = stage.observed.descriptors
    let beginnings = [
      "", "G", "GET /api/x HTTP/1.1\r\nHo", try stage.head("GET"), try stage.head("GET") + (try stage.head("GET")),
      try stage.head("PUT", fields: "Content-Length: 100000\r\n"),
      try stage.head("PUT", fields: "Content-Length: 100000\r\n") + String(repeating: "x", count: 50_000),
      try stage.head("PUT", fields: "Transfer-Encoding: chunked\r\n") + "5\r\nhe",
      try stage.head("GET", "/nowhere"), "\u{16}\u{3}\u{1}",
    ]
    for round in 0..<10 {
      for number in 0..<200 {
        let client = try stage.raw()
        try? client.send(beginnings[(number + round) % beginnings.count])
        client.reset()
      }
      if round % 3 == 0 { #expect(try anotherIsServed(stage)) }
    }
    #expect(try anotherIsServed(stage))
    #expect(eventually { stage.observed.descriptors <= before + 64 }, "what is pooled is not lost")
    #expect(stage.daemon!.stop() == 0)
    assertCanary(stage)
  }

  /// 128 MiB each way, or as many as BEARERD_LOAD_MIB says, and both ways at once: what streams is not held.
  @Test func `T54: large bodies go through little memory, both ways, beside slow readers`() throws {
    let count = (ProcessInfo.processInfo.environment["BEARERD_LOAD_MIB"].flatMap { Int($0) } ?? 128) << 20
    let stage = try Stage { connection in
      guard let (head, first) = connection.head() else { return }
      if head.contains("/other") { return connection.answer("hello") }
      if head.contains("/slow") {
        connection.say("HTTP/1.1 200 OK\r\nContent-Length: \(count)\r\n\r\n")
        try? Pattern.write(count, piece: 65_536) { try connection.write($0) }
        return
      }
      // The answer begins at once: the body comes back as it arrives, and as it came.
      connection.say("HTTP/1.1 200 OK\r\nContent-Length: \(count)\r\n\r\n")
      try? connection.write(first)
      var got = first.count
      while got < count, let more = try? connection.read(maximum: 262_144), !more.isEmpty {
        got += more.count
        guard (try? connection.write(more)) != nil else { return }
      }
    }
    try start(stage)
    #expect(try anotherIsServed(stage))
    let slow = try (0..<20).map { _ in try stage.raw(receiveBuffer: 16_384) }
    for client in slow { try client.send(stage.head("GET", "/api/slow")) }

    let client = try stage.raw()
    try client.send(stage.head("PUT", "/api/echo", fields: "Content-Length: \(count)\r\n"))
    let wasSent = Gate()
    Thread.detachNewThread {
      try? Pattern.write(count) { try client.send($0) }
      wasSent.open()
    }
    _ = try client.head()
    var check = Pattern.Check()
    var next = 0
    while check.count < count {
      check.take(try client.read(maximum: 262_144))
      if check.count > next {
        next += 32 << 20
        #expect(try anotherIsServed(stage))
        for client in slow { _ = client.readWithoutWaiting() }
      }
    }
    #expect(check.isRight)
    #expect(wasSent.pass())
    #expect(
      !Observed.isMemoryMeasurable || stage.observed.residentPeak < 64 * 1_024, "\(stage.observed.residentPeak) KiB")
    for client in slow { client.reset() }
    #expect(try anotherIsServed(stage))
  }
}
