import TestServer
import Foundation
import ServerSupport
import TestSupport
import Testing

@Suite(.waits) struct SlowReaderTests {
  static let count = 24 << 20

  @Test(arguments: [false, true])
  func `T54: a client that reads late gets the whole response or upgraded stream, in constant memory`(
    isUpgraded: Bool
  ) throws {
    let written = Counter()
    let stage = try Stage { connection in
      guard connection.head() != nil else { return }
      if isUpgraded {
        connection.switchProtocols()
      } else {
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(Self.count)\r\n\r\n")
      }
      try? Pattern.write(Self.count, piece: 65_536) {
        try connection.write($0)
        written.add($0.count)
      }
    }
    try stage.start()
    let client = try stage.raw(receiveBuffer: 16_384)
    try client.send(stage.head("GET", fields: isUpgraded ? Stage.upgradeFields : ""))
    _ = try client.head()
    let before = stage.observed.residentPeak
    // The upstream blocks, so the number of written bytes stays constant.
    #expect(try becomesConstant(written))
    #expect(written.count < Self.count)
    #expect(stage.observed.hasGrown(since: before, byLessThan: 4_000))

    var check = Pattern.Check()
    while check.count < Self.count { check.compare(try client.read(maximum: 65_536)) }
    #expect(check.isRight)
    if isUpgraded { #expect(client.rest() == ([], .clean)) }
    #expect(stage.observed.hasGrown(since: before, byLessThan: 4_000))
    stage.assertCanary(times: 1)
  }

  enum Upload: CaseIterable {
    case body, upgraded
    /// Bytes that the client sends before the response to an upgrade wait, too.
    case beforeUpgrade
  }

  @Test(arguments: Upload.allCases)
  func `T54: an upstream that reads or responds late gets the whole request, in constant memory`(upload: Upload) throws
  {
    let begins = Gate()
    let stage = try Stage { connection in
      guard let (_, first) = connection.head() else { return }
      if upload == .upgraded { connection.switchProtocols() }
      begins.pass()
      if upload == .beforeUpgrade { connection.switchProtocols() }
      var check = Pattern.Check()
      check.compare(first)
      while check.count < Self.count, let more = try? connection.read(maximum: 262_144), !more.isEmpty {
        check.compare(more)
      }
      let result = "\(check.count) \(check.isRight)"
      if upload == .body { connection.respond(result) } else { connection.send(result) }
    }
    try stage.start()
    let client = try stage.raw()
    if upload == .body {
      try client.send(stage.head("PUT", fields: "Content-Length: \(Self.count)\r\n"))
    } else {
      try client.send(stage.head("GET", fields: Stage.upgradeFields))
    }
    let before = stage.observed.residentPeak
    var sent = 0
    // Send until the socket accepts no bytes for a while.
    while sent < Self.count,
      eventually(
        seconds: 0.3,
        {
          let more = client.sendWithoutWaiting(Pattern.bytes(at: sent, count: min(65_536, Self.count - sent)))
          sent += more
          return more > 0
        })
    {}
    #expect(sent < Self.count)
    #expect(stage.observed.hasGrown(since: before, byLessThan: 4_000))
    begins.open()
    while sent < Self.count {
      let piece = Pattern.bytes(at: sent, count: min(65_536, Self.count - sent))
      try client.send(piece)
      sent += piece.count
    }
    if upload == .body {
      #expect(try client.response().body == "\(Self.count) true")
    } else {
      _ = try client.head()
      #expect(client.rest() == (Array("\(Self.count) true".utf8), .clean))
    }
    #expect(stage.observed.hasGrown(since: before, byLessThan: 4_000))
    stage.assertCanary(times: 1)
  }

  @Test func `T54: a client that sends requests and never reads does not increase memory`() throws {
    let stage = try Stage()
    try stage.start()
    let client = try stage.raw(receiveBuffer: 16_384)
    // Refused requests, which do not wait for an upstream.
    let requests = Array(String(repeating: try stage.head("GET", "/nowhere"), count: 1_000).utf8)
    client.setTimeout(seconds: 1)
    let before = stage.observed.residentPeak
    var sent = 0
    while sent < 16 << 20,
      eventually(
        seconds: 0.3,
        {
          // The previous piece may have ended within a request.
          let offset = sent % requests.count
          let more = client.sendWithoutWaiting(Array(requests[offset...]))
          sent += more
          return more > 0
        })
    {}
    #expect(sent < 16 << 20)
    #expect(stage.observed.hasGrown(since: before, byLessThan: 6_000))
    // The client gets the responses once it reads.
    client.setTimeout(seconds: 20)
    for _ in 0..<300 { #expect(try client.response().head.hasPrefix("HTTP/1.1 404 ")) }
    stage.assertCanary(times: 0)
  }

  /// An upload that waits for its upstream must not be buffered, although one turn of the event loop can read many
  /// bytes.
  @Test func `T54: uploads that wait for an upstream connection are not buffered`() throws {
    let count = 8 << 20
    let stage = try Stage { connection in
      while let (head, first) = connection.head() {
        if head.hasPrefix("GET") {
          connection.respond("")
          continue
        }
        var received = first.count
        while received < count, let more = try? connection.read(maximum: 262_144), !more.isEmpty {
          received += more.count
        }
        connection.respond("\(received)")
      }
    }
    try stage.start()
    let clients = try (0..<4).map { _ in try stage.raw() }
    for client in clients {
      try client.send(stage.head("GET"))
      _ = try client.response()
    }
    let before = stage.observed.residentPeak
    // The kernel's buffers of a connection grow with each body.
    for _ in 0..<6 {
      let head = try stage.head("PUT", fields: "Content-Length: \(count)\r\n")
      for client in clients {
        Thread.detachNewThread {
          try? client.send(head)
          try? Pattern.write(count, piece: 262_144) { try client.send($0) }
        }
      }
      for client in clients { #expect(try client.response().head.hasPrefix("HTTP/1.1 200 ")) }
    }
    #expect(stage.observed.hasGrown(since: before, byLessThan: 4_000), "\(stage.observed.residentPeak - before) KiB")
  }

  /// Waits until the counter does not change for a while.
  private func becomesConstant(_ counter: Counter) throws -> Bool {
    var seen = -1
    return eventually {
      let now = counter.count
      defer { seen = now }
      return now == seen && !eventually(seconds: 0.2) { counter.count != now }
    }
  }
}
