import TestServer
import Log
import ServerSupport
import TestSupport
import Testing

@Suite(.inProcess) struct StaleSessions {
  /// A server that answers the first request of its first connection, and ends as soon as a second one comes.
  private func stage(seen: Counter, _ ends: @escaping @Sendable (UpstreamConnection) -> Void) throws -> Stage {
    try Stage { connection in
      var count = 0
      while connection.head() != nil {
        count += 1
        if seen.add() < 1 || connection.number > 0 {
          connection.answer("\(connection.number)")
        } else {
          return ends(connection)
        }
      }
    }
  }

  @Test(arguments: ["GET", "PUT", "DELETE"])
  func `an idempotent request that meets a stale session is sent once more, on a fresh one`(method: String) throws {
    let seen = Counter()
    let stage = try stage(seen: seen) { $0.reset() }
    try stage.start()
    let client = try stage.raw()
    try client.send(stage.head("GET"))
    #expect(try client.answer().body == "0")
    try client.send(stage.head(method, fields: method == "PUT" ? "Content-Length: 0\r\n" : ""))
    #expect(try client.answer().body == "1")
    #expect(seen.count == 3)
    #expect(stage.log.wait(for: .request, ["retried": "true"]))
    stage.assertCanary(times: 3)
  }

  @Test func `a retried request whose body is chunked and empty is sent whole`() throws {
    let seen = Counter()
    let stage = try Stage { connection in
      while let request = try? connection.readRequest() {
        if seen.add() == 1 { return }
        connection.answer("\(connection.number) \(request.body.count)")
      }
    }
    try stage.start()
    let client = try stage.raw()
    try client.send(stage.head("GET"))
    #expect(try client.answer().body == "0 0")
    try client.send(stage.head("PUT", fields: "Transfer-Encoding: chunked\r\n") + "0\r\n\r\n")
    #expect(try client.answer().body == "1 0")
    #expect(seen.count == 3)
  }

  @Test func `a request that may not be repeated is not, once it was sent`() throws {
    let seen = Counter()
    let stage = try stage(seen: seen) { $0.reset() }
    try stage.start()
    let client = try stage.raw()
    try client.send(stage.head("GET"))
    #expect(try client.answer().body == "0")
    try client.send(stage.head("POST", fields: "Content-Length: 4\r\n") + "once")
    let answer = try client.answer()
    #expect(answer.head.hasPrefix("HTTP/1.1 502 "))
    #expect(answer.body.contains("upstream-closed"))
    #expect(seen.count == 2)
    #expect(try stage.get("/api/next").status == 200)
    stage.assertCanary(times: 3)
  }

  @Test func `nothing is sent more than twice`() throws {
    let seen = Counter()
    let stage = try Stage { connection in
      while connection.head() != nil {
        if seen.add() > 0 { return }
        connection.answer("first")
      }
    }
    try stage.start()
    let client = try stage.raw()
    try client.send(stage.head("GET"))
    #expect(try client.answer().body == "first")
    try client.send(stage.head("GET"))
    #expect(try client.answer().head.hasPrefix("HTTP/1.1 502 "))
    #expect(seen.count == 3)
    stage.assertCanary(times: 3)
  }

  @Test func `a fresh session that ends is no stale one: nothing is repeated`() throws {
    let seen = Counter()
    let stage = try Stage { connection in
      guard connection.head() != nil else { return }
      seen.add()
    }
    try stage.start()
    #expect(try stage.get().status == 502)
    #expect(seen.count == 1)
  }

  @Test func `a request is not repeated once a byte of its answer came`() throws {
    let seen = Counter()
    let stage = try stage(seen: seen) { $0.say("H") }
    try stage.start()
    let client = try stage.raw()
    try client.send(stage.head("GET"))
    #expect(try client.answer().body == "0")
    try client.send(stage.head("GET"))
    #expect(try client.answer().head.hasPrefix("HTTP/1.1 502 "))
    #expect(seen.count == 2)
  }

  @Test func `a session that the upstream closed while it was idle is not used again`() throws {
    let closes = Gate()
    let stage = try Stage { connection in
      guard connection.head() != nil else { return }
      connection.answer("\(connection.number)")
      if connection.number == 0 { closes.pass() } else { _ = connection.head() }
    }
    try stage.start()
    let client = try stage.raw()
    try client.send(stage.head("POST", fields: "Content-Length: 0\r\n"))
    #expect(try client.answer().body == "0")
    closes.open()
    // The daemon has closed it too.
    #expect(stage.upstream.wait { $0.first?.isFinished == true })
    try client.send(stage.head("POST", fields: "Content-Length: 0\r\n"))
    #expect(try client.answer().body == "1")
    stage.assertCanary(times: 2)
  }
}
