import TestServer
import Foundation
import ServerSupport
import TestSupport
import Testing

@Suite(.waits) struct SlowReaders {
  static let count = 24 << 20

  @Test func `T54: a client that reads late costs no memory and gets every byte`() throws {
    let written = Counter()
    let stage = try Stage { connection in
      guard connection.head() != nil else { return }
      connection.say("HTTP/1.1 200 OK\r\nContent-Length: \(Self.count)\r\n\r\n")
      try? Pattern.write(Self.count, piece: 65_536) {
        try connection.write($0)
        written.add($0.count)
      }
    }
    try stage.start()
    let client = try stage.raw(receiveBuffer: 16_384)
    try client.send(stage.head("GET"))
    _ = try client.head()
    let before = stage.observed.residentPeak
    // The upstream gets stuck: what it has written no longer grows.
    #expect(try becomesConstant(written))
    #expect(written.count < Self.count)
    #expect(stage.observed.hasGrown(since: before, byLessThan: 4_000))

    var check = Pattern.Check()
    while check.count < Self.count { check.take(try client.read(maximum: 65_536)) }
    #expect(check.isRight)
    #expect(stage.observed.hasGrown(since: before, byLessThan: 4_000))
    stage.assertCanary(times: 1)
  }

  @Test func `T54: an upstream that reads late costs no memory and gets every byte`() throws {
    let begins = Gate()
    let stage = try Stage { connection in
      guard let (_, first) = connection.head() else { return }
      begins.pass()
      var check = Pattern.Check()
      check.take(first)
      while check.count < Self.count, let more = try? connection.read(maximum: 262_144), !more.isEmpty {
        check.take(more)
      }
      connection.answer("\(check.count) \(check.isRight)")
    }
    try stage.start()
    let client = try stage.raw()
    try client.send(stage.head("PUT", fields: "Content-Length: \(Self.count)\r\n"))
    let before = stage.observed.residentPeak
    var sent = 0
    // Until nobody takes any more for a while.
    while try eventually(
      seconds: 0.3,
      { () throws -> Bool in
        let more = client.sendWithoutWaiting(Pattern.bytes(at: sent, count: min(65_536, Self.count - sent)))
        sent += more
        return more > 0
      }) && sent < Self.count
    {}
    #expect(sent < Self.count)
    #expect(stage.observed.hasGrown(since: before, byLessThan: 4_000))
    begins.open()
    while sent < Self.count {
      let piece = Pattern.bytes(at: sent, count: min(65_536, Self.count - sent))
      try client.send(piece)
      sent += piece.count
    }
    #expect(try client.answer().body == "\(Self.count) true")
    #expect(stage.observed.hasGrown(since: before, byLessThan: 4_000))
    stage.assertCanary(times: 1)
  }

  @Test func `T54: a client that asks and never reads costs no memory`() throws {
    let stage = try Stage()
    try stage.start()
    let client = try stage.raw(receiveBuffer: 16_384)
    // Refusals, which no upstream's pace holds back.
    let requests = Array(String(repeating: try stage.head("GET", "/nowhere"), count: 1_000).utf8)
    client.setPatience(seconds: 1)
    let before = stage.observed.residentPeak
    var sent = 0
    while sent < 16 << 20,
      eventually(
        seconds: 0.3,
        {
          // A request may be cut; the next piece goes on where it was.
          let offset = sent % requests.count
          let more = client.sendWithoutWaiting(Array(requests[offset...]))
          sent += more
          return more > 0
        })
    {}
    #expect(sent < 16 << 20)
    #expect(stage.observed.hasGrown(since: before, byLessThan: 6_000))
    // And when it reads at last, it is answered.
    client.setPatience(seconds: 20)
    for _ in 0..<300 { #expect(try client.answer().head.hasPrefix("HTTP/1.1 404 ")) }
    stage.assertCanary(times: 0)
  }

  /// While it waits for its upstream: the loop reads on within one turn, as fast as clients write.
  @Test func `T54: uploads do not pile up before they have an upstream`() throws {
    let count = 8 << 20
    let stage = try Stage { connection in
      while let (head, first) = connection.head() {
        if head.hasPrefix("GET") {
          connection.answer("")
          continue
        }
        var taken = first.count
        while taken < count, let more = try? connection.read(maximum: 262_144), !more.isEmpty { taken += more.count }
        connection.answer("\(taken)")
      }
    }
    try stage.start()
    let clients = try (0..<4).map { _ in try stage.raw() }
    for client in clients {
      try client.send(stage.head("GET"))
      _ = try client.answer()
    }
    let before = stage.observed.residentPeak
    // The kernel lets a connection have more under way from one body to the next.
    for _ in 0..<6 {
      let head = try stage.head("PUT", fields: "Content-Length: \(count)\r\n")
      for client in clients {
        Thread.detachNewThread {
          try? client.send(head)
          try? Pattern.write(count, piece: 262_144) { try client.send($0) }
        }
      }
      for client in clients { #expect(try client.answer().head.hasPrefix("HTTP/1.1 200 ")) }
    }
    #expect(stage.observed.hasGrown(since: before, byLessThan: 4_000), "\(stage.observed.residentPeak - before) KiB")
  }

  /// Whether it stays the same for a while.
  private func becomesConstant(_ counter: Counter) throws -> Bool {
    var seen = -1
    return eventually {
      let now = counter.count
      defer { seen = now }
      return now == seen && !eventually(seconds: 0.2) { counter.count != now }
    }
  }
}
