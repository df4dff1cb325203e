import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// Heavy loads from one client. Meanwhile, another user is served (T54).
@Suite(.waits, .serialized) struct OverloadTests {
  static let other = 7_117

  private func start(_ stage: Stage, _ limits: String = "") throws {
    try stage.start(
      stage.configuration(service: "timeouts: { body_silence: 20s }", more: limits).replacing(
        "allow_users: [\(getuid())]", with: "allow_users: [\(getuid()), \(Self.other)]"))
  }

  /// Sends a request as another user if the tests run as root.
  private func isOtherUserServed(_ stage: Stage) throws -> Bool {
    guard isRoot else { return try stage.get("/api/other").status == 200 }
    return try stage.sendRequest(as: Stage.user(Self.other), target: "/api/other").output.hasPrefix("HTTP/1.1 200 ")
  }

  private func assertCanary(_ stage: Stage) {
    stage.assertCanary(times: stage.recorded.components(separatedBy: stage.canary).count - 1)
  }

  /// Returns `count`, or less if the descriptor limit of daemon and test is too low.
  private func affordable(_ count: Int) -> Int {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    limit.rlim_cur = limit.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    return min(count, Int(clamping: limit.rlim_max) / 4)
  }

  @Test func `T54: 5,000 idle connections increase memory only slightly, and delay no other user`() throws {
    let count = affordable(5_000)
    let stage = try Stage()
    try start(stage)
    #expect(try isOtherUserServed(stage))
    let before = (memory: stage.observed.resident, descriptors: stage.observed.descriptors)
    var idle: [RawClient] = []
    for _ in 0..<count { idle.append(try stage.raw()) }
    // All connections are accepted, and the last one works.
    try idle[count - 1].send(stage.head("GET"))
    #expect(try idle[count - 1].response().body == "hello")
    #expect(stage.observed.descriptors >= count)
    #expect(try isOtherUserServed(stage))
    #expect(stage.observed.hasGrown(since: before.memory, byLessThan: 48 * 1_024))
    #expect(!stage.observed.spins())
    for client in idle { client.close() }
    #expect(eventually { stage.observed.descriptors <= before.descriptors + 4 })
    #expect(try isOtherUserServed(stage))
    assertCanary(stage)
  }

  @Test func `T54: very slow heads and resets at any moment leave no descriptors open, and delay no other user`() throws
  {
    let stage = try Stage { connection in
      while let (head, rest) = connection.head() {
        guard head.contains("PUT") else {
          connection.respond("hello")
          continue
        }
        var got = rest.count
        while got < 100_000, let more = try? connection.read(), !more.isEmpty { got += more.count }
        connection.respond("hello")
      }
    }
    try start(stage, "limits: { client_head: 2s }")
    #expect(try isOtherUserServed(stage))
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
      #expect(try isOtherUserServed(stage))
    }
    #expect(cut == 300)
    #expect(eventually { stage.observed.descriptors <= before + 8 })
    #expect(stage.log.wait(for: .request, ["status": 408], count: 300))

    let prefixes = [
      "", "G", "GET /api/x HTTP/1.1\r\nHo", try stage.head("GET"), try stage.head("GET") + (try stage.head("GET")),
      try stage.head("PUT", fields: "Content-Length: 100000\r\n"),
      try stage.head("PUT", fields: "Content-Length: 100000\r\n") + String(repeating: "x", count: 50_000),
      try stage.head("PUT", fields: "Transfer-Encoding: chunked\r\n") + "5\r\nhe",
      try stage.head("GET", "/nowhere"), "\u{16}\u{3}\u{1}",
    ]
    for round in 0..<10 {
      for number in 0..<200 {
        let client = try stage.raw()
        try? client.send(prefixes[(number + round) % prefixes.count])
        client.reset()
      }
      if round % 3 == 0 { #expect(try isOtherUserServed(stage)) }
    }
    #expect(try isOtherUserServed(stage))
    #expect(eventually { stage.observed.descriptors <= before + 64 }, "what is pooled is not lost")
    #expect(stage.daemon!.stop() == 0)
    assertCanary(stage)
  }

  /// Sends 128 MiB in each direction simultaneously. `BEARERD_LOAD_MIB` sets another size.
  @Test func `T54: large bodies in both directions, with slow readers, need little memory`() throws {
    let count = (ProcessInfo.processInfo.environment["BEARERD_LOAD_MIB"].flatMap { Int($0) } ?? 128) << 20
    let stage = try Stage { connection in
      guard let (head, first) = connection.head() else { return }
      if head.contains("/other") { return connection.respond("hello") }
      if head.contains("/slow") {
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(count)\r\n\r\n")
        try? Pattern.write(count, piece: 65_536) { try connection.write($0) }
        return
      }
      // The response begins immediately, and returns the body as it arrives.
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(count)\r\n\r\n")
      try? connection.write(first)
      var got = first.count
      while got < count, let more = try? connection.read(maximum: 262_144), !more.isEmpty {
        got += more.count
        guard (try? connection.write(more)) != nil else { return }
      }
    }
    try start(stage)
    #expect(try isOtherUserServed(stage))
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
      check.compare(try client.read(maximum: 262_144))
      if check.count > next {
        next += 32 << 20
        #expect(try isOtherUserServed(stage))
        for client in slow { _ = client.readWithoutWaiting() }
      }
    }
    #expect(check.isRight)
    #expect(wasSent.pass())
    #expect(
      !Observed.isMemoryMeasurable || stage.observed.residentPeak < 64 * 1_024, "\(stage.observed.residentPeak) KiB")
    for client in slow { client.reset() }
    #expect(try isOtherUserServed(stage))
  }
}
