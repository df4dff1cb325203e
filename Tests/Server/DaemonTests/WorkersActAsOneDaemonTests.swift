import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// Several workers behave like one worker: limits apply to all workers together.
@Suite(.inProcess) struct WorkersActAsOneDaemon {
  private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

  private func start(
    _ stage: Stage, workers: Int = 2, service: String = "", credential: String? = nil, more: String = ""
  )
    throws
  {
    try stage.start(
      stage.configuration(
        service: service, credential: credential ?? "bearer: { file: canary.token }",
        more: "control: control.sock\n\(more)\nworkers: \(workers)\n"))
  }

  private func status(_ stage: Stage) throws -> [String: Any] {
    let text = try stage.control("status").dropFirst("ok\n".count)
    return try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
  }

  private func occurrences(of text: String, in whole: String) -> Int { whole.components(separatedBy: text).count - 1 }

  /// Sends `times` requests on each connection, one after another, and returns the statuses.
  private func ask(_ clients: [LocalClient], _ stage: Stage, times: Int = 1) throws -> [Int] {
    let head = try stage.head("GET")
    return try (0..<times).flatMap { _ in
      try clients.map { client in
        try client.send(head)
        return try client.response().status
      }
    }
  }

  @Test func `workers get equal numbers of connections, and each request carries the credential`() throws {
    let stage = try Stage()
    try start(stage, workers: 3)
    let clients = try (0..<9).map { _ in try stage.client() }
    #expect(try ask(clients, stage, times: 5) == Array(repeating: 200, count: 45))
    let status = try status(stage)
    #expect(status["workers"] as? Int == 3)
    #expect(status["connections"] as? Int == 9)
    #expect(status["worker_connections"] as? [Int] == [3, 3, 3])
    stage.assertCanary(times: 45)
  }

  @Test func `status, metrics and scrapes add up the counters of all workers`() throws {
    let stage = try Stage()
    try start(stage, more: "metrics: { address: localhost:0, allow_users: [\(getuid())] }")
    let clients = try (0..<4).map { _ in try stage.client() }
    #expect(try ask(clients, stage, times: 5) == Array(repeating: 200, count: 20))
    #expect(try stage.request("GET /nowhere HTTP/1.1\r\nHost: HOST\r\n\r\n").status == 404)
    let services = try #require(try status(stage)["services"] as? [[String: Any]])
    #expect(services.first?["requests"] as? Int == 20)
    let text = try PrometheusText(String(try stage.control("metrics").dropFirst(3)))
    #expect(try text.value("bearerd_requests_total", ["service": "api", "status": "2xx"]) == 20)
    #expect(try text.value("bearerd_credential_accepted_total", ["credential": "canary"]) == 20)
    // Two requests on one connection, which arrive in one read.
    let scraper = try stage.client("metrics")
    let head = "GET /metrics HTTP/1.1\r\nHost: localhost:\(try stage.daemon!.port("metrics"))\r\n\r\n"
    try scraper.send(head + head)
    for _ in 0..<2 {
      let scraped = try PrometheusText(scraper.response().text)
      #expect(try scraped.value("bearerd_requests_total", ["service": "api", "status": "2xx"]) == 20)
      #expect(try scraped.value("bearerd_refusals_total", ["service": "", "code": "no-service"]) == 1)
    }
    try scraper.send(head.replacing("\r\n\r\n", with: "\r\nConnection: close\r\n\r\n"))
    scraper.shutdownSending()
    #expect(try scraper.response().status == 200)
    #expect(try scraper.isAtEnd())
    stage.assertCanary(times: 20)
  }

  private static let echo = UpstreamServer.httpHandler { request in
    let token = request.text.split(separator: "\r\n").first { $0.hasPrefix("Authorization: Bearer ") } ?? ""
    let body = token.dropFirst("Authorization: Bearer ".count)
    return Array("HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)".utf8)
  }

  /// - Parameter changes: Number of quick changes in each round. The last change counts.
  @Test(arguments: [1, 10])
  func `T44: after a rotation, no worker sends the old secret`(changes: Int) throws {
    let stage = try Stage(handler: Self.echo)
    try start(stage, workers: 3, service: "redact: off")
    let clients = try (0..<6).map { _ in try stage.raw() }
    let head = try stage.head("GET")
    for number in 1...20 {
      for change in 1...changes { try stage.scratch.write("canary.token", "ROTATED-\(number)-\(change)") }
      for client in clients {
        try client.send(head)
        #expect(try client.response().body == "ROTATED-\(number)-\(changes)")
      }
    }
    if changes == 1 {
      let lines = stage.log.lines(of: .credentialChanged).count
      #expect(lines == 20, "one for each, and not one of each worker")
    }
    stage.assertCanary(times: 0)
  }

  @Test func `T41: all workers together send a wrong password five times`() throws {
    let stage = try Stage(
      handler: UpstreamServer.httpHandler { request in
        Array((request.text.contains("RIGHT") ? Self.ok : "HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n").utf8)
      })
    try start(stage)
    let clients = try (0..<4).map { _ in try stage.client() }
    let statuses = try ask(clients, stage, times: 10)
    #expect(statuses == Array(repeating: 401, count: 5) + Array(repeating: 503, count: 35))
    #expect(occurrences(of: "Authorization: Bearer \(stage.canary)", in: stage.recorded) == 5)
    #expect(stage.log.wait(for: .credentialSuspended, ["credential": "canary"]))
    #expect(try stage.control("status").contains("\"rejections\":5"))
    try stage.scratch.write("canary.token", "RIGHT-password")
    #expect(try ask(clients, stage, times: 2) == Array(repeating: 200, count: 8))
    #expect(stage.log.lines(of: .credentialSuspended).count == 1)
    // The suspension survives a reload.
    try stage.scratch.write("canary.token", stage.canary)
    try stage.daemon!.reload()
    #expect(try ask(clients, stage, times: 2) == Array(repeating: 503, count: 8))
    stage.assertCanary(times: 5)
  }

  @Test func `T8: all workers share one rate limit`() throws {
    let stage = try Stage()
    try start(stage, workers: 4, service: "rate: 50/d")
    let (port, head) = (try stage.daemon!.port(), try stage.head("GET"))
    let (accepted, refused) = (Counter(), Counter())
    let load = SteadyLoad(callers: 8, port: port) { client, _ in
      try client.send(head)
      let response = try client.response().head
      if response.hasPrefix("HTTP/1.1 200 ") {
        accepted.add()
      } else if response.hasPrefix("HTTP/1.1 429 ") {
        refused.add()
      }
      return response.contains(" 200 ") || response.contains(" 429 ") ? nil : response
    }
    try load.waitForResponses(400)
    try stage.daemon!.reload()
    try load.waitForResponses(100)
    #expect(load.stop() == [])
    #expect(accepted.count == 50)
    #expect(refused.count >= 450)
    stage.assertCanary(times: 50)
  }

  @Test func `T54: all workers share one connection limit per user`() throws {
    let stage = try Stage()
    try start(stage, workers: 4, more: "limits: { connections_per_user: 5 }")
    let clients = try (0..<5).map { _ in try stage.client() }
    #expect(try ask(clients, stage) == Array(repeating: 200, count: 5))
    for _ in 0..<4 {
      let refused = try stage.client()
      #expect(try refused.response().status == 429)
      #expect(try refused.isAtEnd())
    }
    for client in clients { client.abandon() }
    #expect(try eventually { try status(stage)["connections"] as? Int == 0 })
    #expect(try ask((0..<5).map { _ in try stage.client() }, stage) == Array(repeating: 200, count: 5))
    stage.assertCanary(times: 10)
  }

  @Test func `T54: all workers share one connection limit, and each closed connection makes room`() throws {
    let stage = try Stage()
    try start(stage, workers: 3, more: "limits: { connections: 6, connections_per_user: 6 }")
    let clients = try (0..<6).map { _ in try stage.client() }
    #expect(try ask(clients, stage) == Array(repeating: 200, count: 6))
    #expect(stage.log.wait(for: .connectionLimit, ["connections": 6]))
    for client in clients {
      let waiting = try stage.client()
      try waiting.send(stage.head("GET"))
      client.abandon()
      #expect(try waiting.response().status == 200, "whichever worker had the one that ended")
    }
    stage.assertCanary(times: 12)
  }
}
