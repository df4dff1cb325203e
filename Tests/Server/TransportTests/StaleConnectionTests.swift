import StatusModel
import TestServer
import Log
import ServerSupport
import TestSupport
import Testing

@Suite(.inProcess) struct StaleConnectionTests {
  /// Returns a stage whose upstream responds to the first request, and calls `ends` for a second request on its first
  /// connection.
  private func stage(seen: Counter, _ ends: @escaping @Sendable (AcceptedConnection) -> Void) throws -> Stage {
    try Stage { connection in
      var count = 0
      while connection.head() != nil {
        count += 1
        if seen.add() < 1 || connection.number > 0 {
          connection.respond("\(connection.number)")
        } else {
          return ends(connection)
        }
      }
    }
  }

  /// Asserts that the second of two requests on one connection gets 502.
  private func assertSecondFails(_ stage: Stage, first: String) throws {
    try stage.start()
    let client = try stage.raw()
    try client.send(stage.head("GET"))
    #expect(try client.response().body == first)
    try client.send(stage.head("GET"))
    #expect(try client.response().head.hasPrefix("HTTP/1.1 502 "))
  }

  @Test(arguments: ["GET", "PUT", "DELETE"])
  func `an idempotent request on a stale connection is retried on a new connection`(method: String) throws {
    let seen = Counter()
    let stage = try stage(seen: seen) { $0.reset() }
    try stage.start()
    let client = try stage.raw()
    try client.send(stage.head("GET"))
    #expect(try client.response().body == "0")
    try client.send(stage.head(method, fields: method == "PUT" ? "Content-Length: 0\r\n" : ""))
    #expect(try client.response().body == "1")
    #expect(seen.count == 3)
    #expect(stage.log.wait(for: .request, ["retried": "true"]))
    stage.assertCanary(times: 3)
  }

  @Test func `a response that arrives together with a TLS fault is passed on`() throws {
    let stage = try Stage { connection in
      guard connection.head() != nil else { return }
      connection.together {
        connection.respond("whole")
        // This record is not encrypted.
        try? connection.writeRaw([0x17, 3, 3, 0, 2, 1, 1])
      }
      connection.readToEnd()
    }
    try stage.start()
    for _ in 0..<2 { #expect(try stage.get().text == "whole") }
    #expect(stage.upstream.records.count == 2)
  }

  @Test func `a retried request with an empty chunked body is complete`() throws {
    let seen = Counter()
    let stage = try Stage { connection in
      while let request = try? connection.readRequest() {
        if seen.add() == 1 { return }
        connection.respond("\(connection.number) \(request.body.count)")
      }
    }
    try stage.start()
    let client = try stage.raw()
    try client.send(stage.head("GET"))
    #expect(try client.response().body == "0 0")
    try client.send(stage.head("PUT", fields: "Transfer-Encoding: chunked\r\n") + "0\r\n\r\n")
    #expect(try client.response().body == "1 0")
    #expect(seen.count == 3)
  }

  @Test func `a request that is not idempotent is not retried`() throws {
    let seen = Counter()
    let stage = try stage(seen: seen) { $0.reset() }
    try stage.start()
    let client = try stage.raw()
    try client.send(stage.head("GET"))
    #expect(try client.response().body == "0")
    try client.send(stage.head("POST", fields: "Content-Length: 4\r\n") + "once")
    let response = try client.response()
    #expect(response.head.hasPrefix("HTTP/1.1 502 "))
    #expect(response.body.contains("upstream-closed"))
    #expect(seen.count == 2)
    #expect(try stage.get("/api/next").status == 200)
    stage.assertCanary(times: 3)
  }

  @Test func `a request is sent at most twice`() throws {
    let seen = Counter()
    let stage = try Stage { connection in
      while connection.head() != nil {
        if seen.add() > 0 { return }
        connection.respond("first")
      }
    }
    try assertSecondFails(stage, first: "first")
    #expect(seen.count == 3)
    stage.assertCanary(times: 3)
  }

  @Test func `a request on a new connection is not retried`() throws {
    let seen = Counter()
    let stage = try Stage { connection in
      guard connection.head() != nil else { return }
      seen.add()
    }
    try stage.start()
    #expect(try stage.get().status == 502)
    #expect(seen.count == 1)
  }

  @Test func `a request is not retried after the first byte of its response`() throws {
    let seen = Counter()
    let stage = try stage(seen: seen) { $0.send("H") }
    try assertSecondFails(stage, first: "0")
    #expect(seen.count == 2)
  }

  @Test func `an idle connection that the upstream closes is not reused`() throws {
    let closes = Gate()
    let stage = try Stage { connection in
      guard connection.head() != nil else { return }
      connection.respond("\(connection.number)")
      if connection.number == 0 { closes.pass() } else { _ = connection.head() }
    }
    try stage.start()
    let client = try stage.raw()
    try client.send(stage.head("POST", fields: "Content-Length: 0\r\n"))
    #expect(try client.response().body == "0")
    closes.open()
    // The daemon has also closed the connection.
    #expect(stage.upstream.wait { $0.first?.isFinished == true })
    try client.send(stage.head("POST", fields: "Content-Length: 0\r\n"))
    #expect(try client.response().body == "1")
    stage.assertCanary(times: 2)
  }
}
