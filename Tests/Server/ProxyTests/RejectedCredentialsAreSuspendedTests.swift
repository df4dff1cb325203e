import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// bearerd suspends a credential that the upstream rejects repeatedly, because an account could be locked.
@Suite(.inProcess) struct RejectedCredentialsAreSuspended {
  private static let unauthorized = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno"
  private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

  /// Returns an upstream that accepts one secret and rejects all others.
  private static func accepting(_ good: String) -> @Sendable (AcceptedConnection) -> Void {
    UpstreamServer.httpHandler { request in Array((request.text.contains(good) ? ok : unauthorized).utf8) }
  }

  private static func bearer(_ suspend: String) -> String {
    "bearer: { file: canary.token }\n    suspend: \(suspend)"
  }

  private func occurrences(of text: String, in whole: String) -> Int { whole.components(separatedBy: text).count - 1 }

  /// Sends a request. Returns `true` if it is the second to reach the upstream, and `false` if bearerd refused it.
  private func reaches(_ count: Counter, of stage: Stage, _ send: () throws -> Void) throws -> Bool {
    func refusals() -> Int { stage.log.lines(of: .request, ["refused": "credential-suspended"]).count }
    let before = refusals()
    try send()
    _ = eventually { count.count == 2 || refusals() > before }
    return count.count == 2
  }

  @Test(arguments: [
    "OTP", "Bearer resource_metadata=\"https://mcp.example.com/.well-known/oauth-protected-resource\"",
    "Bearer realm=\"\", error=\"insufficient_claims\", claims=\"eyJhIjoxfQ==\"",
    "Bearer error=\"insufficient_scope\", scope=\"repo\"",
  ])
  func `T41: a challenge for another permission does not count as a rejection`(
    challenge: String
  ) throws {
    let stage = try Stage { connection in
      while let (head, _) = connection.head() {
        if head.contains("/alive") {
          connection.respond("alive")
        } else {
          connection.respond("more", status: "401 Unauthorized", fields: "WWW-Authenticate: \(challenge)\r\n")
        }
      }
    }
    try stage.start(
      stage.configuration(service: "on_rejected: \"502\"", credential: Self.bearer("{ after: 2, for: 1h }")))
    for _ in 0..<6 {
      let response = try stage.get()
      #expect(response.status == 401 && response.text == "more")
      #expect(response.values("WWW-Authenticate") == [challenge] && response.values("Proxy-Status").isEmpty)
    }
    #expect(try stage.get("/api/alive").text == "alive")
    #expect(!stage.log.contains(.credentialSuspended))
    #expect(!stage.log.contains(.request, ["credential_rejected": "true"]))
    stage.assertCanary(times: 7)
  }

  @Test func `T41: a wrong password is sent five times for 1,000 requests, and a new one immediately`() throws {
    let right = Data("deploy:RIGHT-password".utf8).base64EncodedString()
    let stage = try Stage(handler: Self.accepting(right))
    try stage.start(
      stage.configuration(credential: "basic: { user: deploy, password: { file: canary.token } }"))
    let (client, head) = (try stage.client(), try stage.head("GET"))
    var statuses: [Int: Int] = [:]
    for _ in 0..<1_000 {
      try client.send(head)
      let response = try client.response()
      statuses[response.status, default: 0] += 1
      guard response.status == 503 else { continue }
      #expect(response.text.contains("urn:bearerd:error:credential-suspended"))
      #expect(response.values("Retry-After").isEmpty && response.values("x-should-retry") == ["false"])
    }
    #expect(statuses == [401: 5, 503: 995])
    let wrong = Data("deploy:\(stage.canary)".utf8).base64EncodedString()
    #expect(occurrences(of: wrong, in: stage.recorded) == 5)
    let suspension: [String: LoggedField] = [
      "credential": "canary", "credential_generation": 1, "upstream": "\(stage.origin)",
    ]
    #expect(stage.log.wait(for: .credentialSuspended, suspension.merging(["rejections": 5, "seconds": 60]) { $1 }))
    let status = try stage.control("status")
    #expect(status.contains("\"suspended\":[{\"upstream\":\"\(stage.origin)\",\"rejections\":5,"), "\(status)")

    try stage.scratch.write("canary.token", "RIGHT-password\n")
    #expect(stage.log.wait(for: .credentialChanged))
    #expect(try stage.get().status == 200)
    #expect(stage.log.wait(for: .credentialResumed, ["credential": "canary", "credential_generation": 2]))
    #expect(stage.log.lines(of: .credentialSuspended).count == 1)
    #expect(stage.log.lines(of: .credentialResumed).count == 1)
    stage.assertCanary(times: 5, as: "Authorization: Basic \(wrong)\r\n")
  }

  @Test(arguments: [1, 2])
  func `T67: a suspended file secret tells programs not to retry, and bearerctl resume ends the suspension`(
    workers: Int
  ) throws {
    let isRight = Guarded(false)
    let stage = try Stage { connection in
      while (try? connection.readRequest()) ?? nil != nil {
        connection.respond("x", status: isRight.withLock { $0 } ? "200 OK" : "401 Unauthorized")
      }
    }
    try stage.start(
      stage.configuration(
        credential: Self.bearer("{ after: 2, for: 1h }"), more: "control: control.sock\nworkers: \(workers)\n"))
    for _ in 0..<2 { #expect(try stage.get().status == 401) }
    for _ in 0..<3 {
      let response = try stage.get()
      #expect(response.text.contains("error:credential-suspended"))
      #expect(response.values("Retry-After").isEmpty && response.values("x-should-retry") == ["false"])
    }
    isRight.withLock { $0 = true }
    #expect(try stage.control("resume nobody").hasPrefix("error\n"))
    #expect(try stage.control("resume canary").contains("\"upstreams\":[\"\(stage.origin)\"]"))
    #expect(stage.log.wait(for: .credentialResumed, ["credential": "canary", "upstream": "\(stage.origin)"]))
    for _ in 0..<3 { #expect(try stage.get().status == 200) }
    #expect(try stage.control("resume canary").contains("\"upstreams\":[]"))
    stage.assertCanary(times: 5)
  }

  @Test func `T41: a wrong value stays suspended after a removal, a rename and a reload`() throws {
    let stage = try Stage(handler: Self.accepting("RIGHT-password"))
    let text = stage.configuration(credential: Self.bearer("{ after: 2, for: 1h }"))
    try stage.start(text)
    func isSuspended() throws -> Bool { try stage.get().text.contains("error:credential-suspended") }
    #expect(try stage.get().status == 401)
    #expect(unlink(stage.scratch.path + "/canary.token") == 0)
    #expect(stage.log.wait(for: .credentialUnavailable))
    try stage.scratch.write("canary.token", stage.canary)
    #expect(stage.log.wait(for: .credentialChanged))
    #expect(try stage.get().status == 401)
    #expect(try isSuspended())
    let renamed = text.replacing("\n  canary:", with: "\n  other:").replacing(
      "credential: canary", with: "credential: other")
    try stage.reload(renamed)
    #expect(try isSuspended())
    try stage.reload(text.replacing("credential: canary", with: "credential: none"))
    #expect(try stage.get().status == 401)
    try stage.reload(text)
    #expect(try isSuspended())
    try stage.scratch.write("canary.token", "RIGHT-password")
    #expect(stage.log.wait(for: .credentialChanged, count: 2))
    #expect(try stage.get().status == 200)
    stage.assertCanary(times: 2)
  }

  @Test func `T41: once the credential is suspended, no further parallel request sends the credential`() throws {
    let (arrived, response) = (Counter(), Gate())
    let stage = try Stage { connection in
      guard (try? connection.readRequest()) != nil else { return }
      arrived.add()
      response.pass()
      connection.respond("no", status: "401 Unauthorized", fields: "Connection: close\r\n")
    }
    try stage.start()
    let clients = try (0..<20).map { _ in try stage.client() }
    for client in clients { try client.send(stage.head("GET")) }
    #expect(eventually { arrived.count == 20 })
    response.open(times: 20)
    for client in clients { #expect(try client.response().status == 401) }
    let connections = stage.upstream.records.count
    for client in clients {
      try client.send(stage.head("GET"))
      #expect(try client.response().status == 503)
    }
    #expect(arrived.count == 20 && stage.upstream.records.count == connections)
    stage.assertCanary(times: 20)
  }

  @Test func `T41: after a suspension one request probes, and other requests get 503 until the response`() throws {
    let (count, response) = (Counter(), Gate())
    let stage = try Stage { connection in
      while (try? connection.readRequest()) != nil {
        if count.add() == 0 {
          connection.send(Self.unauthorized)
        } else {
          response.pass()
          connection.send(Self.ok)
        }
      }
    }
    try stage.start(stage.configuration(credential: Self.bearer("{ after: 1, for: 3s }")))
    #expect(try stage.get().status == 401)
    #expect(try stage.get().status == 503)
    let (probe, head) = (try stage.client(), try stage.head("GET"))
    let isOut = try eventually {
      if try reaches(count, of: stage, { try probe.send(head) }) { return true }
      guard try probe.response().status == 503 else { throw TestFailure("an answer that was not refused") }
      return false
    }
    #expect(isOut)
    let other = try stage.get()
    #expect(other.status == 503 && other.values("Retry-After") == ["1"])
    response.open(times: 10)
    #expect(try probe.response().status == 200)
    #expect(stage.log.wait(for: .credentialResumed))
    #expect(try stage.get().status == 200)
    stage.assertCanary(times: 3)
  }

  @Test func `T41: a probe on a stale connection is retried on another connection`() throws {
    let connections = Counter()
    let stage = try Stage { connection in
      let isFirst = connections.add() == 0
      while (try? connection.readRequest()) != nil {
        if isFirst { connection.send(Self.unauthorized) } else { connection.send(Self.ok) }
        if isFirst {
          _ = try? connection.readRequest()
          return
        }
      }
    }
    try stage.start(stage.configuration(credential: Self.bearer("{ after: 1, for: 1ms }")))
    #expect(try stage.get().status == 401)
    #expect(try eventually { try stage.get().status == 200 })
    #expect(connections.count == 2)
    stage.assertCanary(times: 3)
  }

  @Test func `T41: an aborted probe extends the suspension`() throws {
    let count = Counter()
    let stage = try Stage { connection in
      while (try? connection.readRequest()) != nil {
        switch count.add() {
        case 0: connection.send(Self.unauthorized)
        case 1: connection.readToEnd()
        default: connection.send(Self.ok)
        }
      }
    }
    try stage.start(stage.configuration(credential: Self.bearer("{ after: 1, for: 3s }")))
    #expect(try stage.get().status == 401)
    let head = try stage.head("GET")
    let isOut = try eventually {
      let probe = try stage.client()
      defer { probe.abandon() }
      return try reaches(count, of: stage) { try probe.send(head) }
    }
    #expect(isOut)
    #expect(stage.log.wait(for: .request, ["aborted": "true"]))
    #expect(try stage.get().status == 503)
    #expect(try eventually { try stage.get().status == 200 })
    stage.assertCanary(times: 3)
  }

  @Test func `T41: a reload keeps the rejection count, and suspend: off ends the suspension`() throws {
    let stage = try Stage(handler: Self.accepting("nobody"))
    try stage.start(stage.configuration(credential: Self.bearer("{ after: 2, for: 1h }")))
    for status in [401, 401, 503] { #expect(try stage.get().status == status) }
    try stage.reload(stage.configuration(credential: Self.bearer("{ after: 3, for: 1h }")))
    #expect(try stage.get().status == 503)
    try stage.reload(stage.configuration(credential: Self.bearer("off")))
    for _ in 0..<12 { #expect(try stage.get().status == 401) }
    stage.assertCanary(times: 14)
  }

  @Test func `T41: 403 responses do not suspend a credential`() throws {
    let stage = try Stage(
      handler: UpstreamServer.httpHandler { request in
        Array((request.path.hasPrefix("/admin") ? "HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n" : Self.ok).utf8)
      })
    try stage.start()
    for _ in 0..<20 { #expect(try stage.get("/api/admin").status == 403) }
    #expect(try stage.get().status == 200)
    for _ in 0..<49 { #expect(try stage.get("/api/admin").status == 403) }
    #expect(try stage.get().status == 200)
    #expect(!stage.log.contains(.credentialSuspended))
    stage.assertCanary(times: 71)
  }

  @Test func `T41: a suspension affects only one credential at one origin`() throws {
    let stage = try Stage(handler: Self.accepting("nobody"))
    let other = try UpstreamServer(
      chain: [stage.leaf], handler: UpstreamServer.httpHandler(response: Self.ok))
    defer { other.stop() }
    let text = stage.configuration(
      service: "rules: [{ match: /open, credential: none }, { match: \"/**\" }]",
      services: """
          other:
            upstream: https://localhost:\(other.port)/
            ca_file: ca.pem
            credential: canary
        """)
    try stage.start(
      text.replacing("[\"\(stage.origin)\"]", with: "[\"\(stage.origin)\", \"https://localhost:\(other.port)\"]"))
    for _ in 0..<5 { #expect(try stage.get().status == 401) }
    #expect(try stage.get().status == 503)
    #expect(try stage.get("/api/open").status == 401)
    #expect(try stage.get("/other/x").status == 200)
    stage.assertCanary(times: 5)
  }

  @Test func `T41: the metrics show suspensions`() throws {
    let stage = try Stage(handler: Self.accepting("nobody"))
    try stage.start(
      stage.configuration(
        credential: Self.bearer("{ after: 2, for: 5m }"),
        more: "metrics: { address: localhost:0, allow_users: [\(getuid())] }"))
    func scrape() throws -> PrometheusText {
      let client = try stage.client("metrics")
      try client.send("GET /metrics HTTP/1.1\r\nHost: localhost:\(stage.daemon!.port("metrics"))\r\n\r\n")
      return try PrometheusText(client.response().text)
    }
    let labels = ["credential": "canary", "upstream": stage.origin]
    #expect(try scrape().value("bearerd_credential_suspended", labels) == 0)
    for status in [401, 401, 503] { #expect(try stage.get().status == status) }
    #expect(try scrape().value("bearerd_credential_suspended", labels) == 1)
    #expect(try scrape().value("bearerd_credential_suspensions_total", labels) == 1)
    #expect(try scrape().value("bearerd_refusals_total", ["service": "api", "code": "credential-suspended"]) == 1)
    #expect(try scrape().value("bearerd_credential_rejected_total", ["credential": "canary"]) == 2)
    stage.assertCanary(times: 2)
  }
}
