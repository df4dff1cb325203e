import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// `rate` limits the requests of each caller (T8). The rates are so low that no budget recovers while a test runs.
@Suite(.inProcess) struct CallersHaveRateLimits {
  private static let other = 7_117
  private static let rules = """
    rate: 3/d
    rules:
      - { match: "/own/**", rate: 1/d }
      - { match: "/free/**", rate: none }
      - { match: "/no/**", deny: true }
      - { match: "/**" }
    """

  private func statuses(_ stage: Stage, _ paths: String...) throws -> [Int] {
    try paths.map { try stage.get($0).status }
  }

  @Test func `T8: a request beyond the rate gets 429, and opens no upstream connection`() throws {
    let stage = try Stage(
      handler: UpstreamServer.httpHandler(
        response: "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"))
    try stage.start(stage.configuration(service: "rate: 3/d", more: "control: control.sock"))
    #expect(try statuses(stage, "/api/1", "/api/2", "/api/3") == [200, 200, 200])
    let client = try stage.client()
    for count in 1...20 {
      try client.send(stage.head("POST", "/api/more", fields: "Content-Length: 0\r\n"))
      let response = try client.response()
      #expect(response.status == 429)
      #expect(response.values("Proxy-Status") == ["bearerd; error=http_request_denied; details=\"rate-limited\""])
      #expect(response.values("Content-Type") == ["application/problem+json"])
      let seconds = response.values("Retry-After").first.flatMap { Int($0) } ?? 0
      #expect((28_000...28_800).contains(seconds), "a third of a day")
      #expect(response.text.contains("\"urn:bearerd:error:rate-limited\"") && response.text.contains("\"status\":429"))
      #expect(response.text.contains(",\"rate\":\"3/d\",\"of\":\"service\",\"help\":"), "\(count): \(response.text)")
    }
    #expect(stage.upstream.records.count == 3, "connections")
    let fields: [String: LoggedField] = ["service": "api", "rule": .absent, "uid": "\(getuid())", "rate": "3/d"]
    #expect(stage.log.wait(for: .rateLimited, fields.merging(["refused": 1, "help": .present]) { $1 }))
    let metrics = try PrometheusText(String(try stage.control("metrics").dropFirst(3)))
    #expect(try metrics.value("bearerd_refusals_total", ["service": "api", "code": "rate-limited"]) == 20)
    #expect(stage.log.lines(of: .rateLimited).count == 1, "one line for all of them")
    #expect(!stage.recorded.contains("/more"))
    stage.assertCanary(times: 3)
  }

  @Test func `T8: a rule has its own rate, the service's rate or none, and refused requests do not count`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(service: Self.rules))
    #expect(try statuses(stage, "/api/own/1", "/api/own/2") == [200, 429])
    #expect(try stage.get("/api/own/3").text.contains(",\"rate\":\"1/d\",\"of\":\"rule 1\""))
    for _ in 0..<10 {
      #expect(try statuses(stage, "/api/free/x", "/api/no/x", "/api/../x", "/nowhere/") == [200, 403, 400, 404])
    }
    #expect(try statuses(stage, "/api/1", "/api/2/x", "/api/3", "/api/4", "/api/free/x") == [200, 200, 200, 429, 200])
    #expect(try stage.get("/api/own%2Fx").status == 400, "under another reading another rule would count it")
    #expect(stage.log.wait(for: .rateLimited, ["service": "api", "rule": 1, "uid": "\(getuid())", "rate": "1/d"]))
    #expect(stage.log.wait(for: .rateLimited, ["service": "api", "uid": "\(getuid())", "rate": "3/d"]))
    stage.assertCanary(times: 15)
  }

  @Test func `T8: an undeliverable request does not count, and a retried request counts once`() throws {
    let seen = Counter()
    let stage = try Stage { connection in
      var count = 0
      while connection.head() != nil {
        count += 1
        seen.add()
        if connection.number == 0, count == 2 { return connection.reset() }
        connection.respond("hello")
      }
    }
    let services = """
        closed: { upstream: "https://localhost:1/", ca_file: ca.pem, rate: 1/d }
        absent: { upstream: "\(stage.origin)/", ca_file: ca.pem, rate: 1/d, credential: absent }
      """
    let text = stage.configuration(service: "rate: 3/d", services: services).replacing(
      "credentials:\n", with: "credentials:\n  absent: { origins: [\"\(stage.origin)\"], bearer: { file: absent } }\n")
    try stage.start(text)
    for _ in 0..<3 { #expect(try statuses(stage, "/closed/x", "/absent/x") == [502, 503]) }
    let client = try stage.raw()
    for _ in 0..<3 {
      try client.send(stage.head("GET"))
      #expect(try client.response().body == "hello")
    }
    #expect(stage.log.wait(for: .request, ["retried": "true"]))
    #expect(seen.count == 4)
    #expect(try stage.get().status == 429)
    stage.assertCanary(times: 4)
  }

  @Test func `T8: simultaneous requests do not exceed the rate`() throws {
    let gate = Gate()
    let stage = try Stage { connection in
      guard (try? connection.readRequest()) != nil else { return }
      gate.pass()
      connection.respond("hello", fields: "Connection: close\r\n")
    }
    try stage.start(stage.configuration(service: "rate: 5/d"))
    let clients = try (0..<20).map { _ in try stage.client() }
    for client in clients { try client.send(stage.head("GET")) }
    gate.open(times: 20)
    let statuses = try clients.map { try $0.response().status }
    #expect(statuses.filter { $0 == 200 }.count == 5 && statuses.filter { $0 == 429 }.count == 15, "\(statuses)")
    #expect(stage.upstream.records.count == 5)
    stage.assertCanary(times: 5)
  }

  @Test(.enabled(if: isRoot, "becomes another user"))
  func `T8: each user has its own budget`() throws {
    let stage = try Stage()
    try stage.start(
      stage.configuration(service: "rate: 2/d").replacing("[\(getuid())]", with: "[\(getuid()), \(Self.other)]"))
    func status(_ wrapper: [String]) throws -> Substring {
      try stage.sendRequest(as: wrapper).output.dropFirst(9).prefix(3)
    }
    for expected in ["200", "200", "429"] { #expect(try status([]) == expected) }
    for expected in ["200", "200", "429"] { #expect(try status(Stage.user(Self.other)) == expected) }
    #expect(try status([]) == "429")
    #expect(stage.log.wait(for: .rateLimited, ["service": "api", "uid": "\(Self.other)", "rate": "2/d"]))
    stage.assertCanary(times: 4)
  }

  @Test func `T8: each client of a user has its own budget`() throws {
    let stage = try Stage.withClients("rate: 2/d")
    for pair in [ClientTokens.ci, ClientTokens.dev] {
      let field = "X-Api-Key: \(pair.text)\r\n"
      for status in [200, 200, 429] { #expect(try stage.get(fields: field).status == status) }
    }
    #expect(
      stage.log.wait(for: .rateLimited, ["service": "api", "uid": "\(getuid())", "client": "dev", "rate": "2/d"]))
    stage.assertCanary(times: 4)
  }

  @Test func `T8: a reload keeps the used budgets, and a changed rate starts a new budget`() throws {
    let stage = try Stage()
    let text = stage.configuration(service: Self.rules)
    try stage.start(text)
    #expect(try statuses(stage, "/api/own/1", "/api/1", "/api/2") == [200, 200, 200])
    try stage.reload(text)
    try stage.reload(text.replacing("rules:\n", with: "rules:\n      - { match: /new }\n"))
    #expect(try statuses(stage, "/api/own/2", "/api/3", "/api/4") == [429, 200, 429])
    try stage.reload(text.replacing("rate: 3/d", with: "rate: 4/d"))
    #expect(try statuses(stage, "/api/own/3", "/api/5") == [429, 200])
    try stage.reload(stage.configuration())
    #expect(try statuses(stage, "/api/own/4") == [200])
    stage.assertCanary(times: 6)
  }
}
