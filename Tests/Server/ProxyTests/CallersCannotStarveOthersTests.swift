import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// One user cannot use up all connections or all concurrent requests (T54).
@Suite(.inProcess) struct CallersCannotStarveOthers {
  /// The uid of a second user. Only root can use it.
  static let other = 7_117

  private func configuration(_ stage: Stage, _ limits: String, users: [Int] = [Int(getuid()), other]) -> String {
    stage.configuration(more: "limits: { \(limits) }").replacing(
      "allow_users: [\(getuid())]", with: "allow_users: [\(users.map(String.init).joined(separator: ", "))]")
  }

  private func othersAreServed(_ stage: Stage) throws -> Bool {
    guard isRoot else { return true }
    return try stage.sendRequest(as: Stage.user(Self.other)).output.hasPrefix("HTTP/1.1 200 ")
  }

  /// Whether the connection gets one refusal, 429 `too-many-connections`, and is then closed.
  private func isRefused(_ client: RawClient) -> Bool {
    client.setTimeout(seconds: 20)
    let (bytes, _) = client.rest()
    let text = String(decoding: bytes, as: UTF8.self)
    return text.hasPrefix("HTTP/1.1 429 Too Many Requests\r\n") && text.contains("\r\nRetry-After: 1\r\n")
      && text.contains("\r\nConnection: close\r\n") && text.contains("urn:bearerd:error:too-many-connections")
  }

  @Test func `T54: a user at the connection limit gets no further connection, and other users do`() throws {
    let stage = try Stage()
    try stage.start(configuration(stage, "connections: 64, connections_per_user: 4"))
    var open = try (0..<4).map { _ in try stage.raw() }
    for client in open {
      try client.send(stage.head("GET"))
      #expect(try client.response().body == "hello")
    }
    for _ in 0..<20 { try #require(isRefused(try stage.raw())) }
    #expect(try othersAreServed(stage))
    #expect(stage.log.lines(of: .callerLimit).count == 1, "one line for all of them")
    #expect(stage.log.contains(.callerLimit, ["uid": "\(getuid())", "connections": 4, "refused": 1, "help": .present]))
    let metrics = try PrometheusText(String(try stage.control("metrics").dropFirst(3)))
    #expect(try metrics.value("bearerd_refusals_total", ["service": "", "code": "too-many-connections"]) == 20)
    // Open connections stay usable, and a closed one makes room.
    try open[0].send(stage.head("GET"))
    #expect(try open[0].response().body == "hello")
    open.removeLast().close()
    #expect(try eventually { try stage.get().status == 200 })
    let seen = stage.recorded.components(separatedBy: stage.canary).count - 1
    #expect(seen == (isRoot ? 7 : 6))
    // A second line counts the later refusals, at the latest at the daemon's exit.
    #expect(stage.daemon!.stop() == 0)
    let lines = stage.log.lines(of: .callerLimit, ["uid": "\(getuid())"])
    #expect(lines.count == 2 && lines[1]["connections"] == nil)
    #expect(Int(lines.last?["refused"] ?? "") ?? 0 >= 19)
    stage.assertCanary(times: seen)
  }

  @Test(.enabled(if: isRoot, "needs a second user"))
  func `T54: all users who are not admitted share one small connection limit`() throws {
    let stage = try Stage()
    try stage.start(configuration(stage, "connections: 16", users: [Self.other]))
    // They send nothing, because bearerd closes their connections after the first response.
    let strangers = try (0..<2).map { _ in try stage.raw() }
    #expect(try eventually { try stage.control("metrics").contains("bearerd_client_connections 2") })
    #expect(isRefused(try stage.raw()))
    #expect(try stage.sendRequest(as: Stage.user(4_242)).output.contains("too-many-connections"))
    #expect(stage.log.contains(.callerLimit, ["uid": "not admitted", "connections": 2]))
    #expect(try othersAreServed(stage))
    for client in strangers { client.close() }
    #expect(try eventually { try stage.get().status == 403 })
    stage.assertCanary(times: 1)
  }

  @Test(.enabled(if: isRoot, "needs a second user"))
  func `T54 T58: users who are not admitted get one response per connection, and few log lines`() throws {
    let stage = try Stage()
    try stage.start(configuration(stage, "connections: 800", users: [Self.other]))
    let client = try stage.raw()
    try client.send(stage.head("GET"))
    let text = String(decoding: client.rest().bytes, as: UTF8.self)
    #expect(text.hasPrefix("HTTP/1.1 403 ") && text.contains("\r\nConnection: close\r\n"))
    for request in try ["G@T\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", stage.head("GET")] {
      for _ in 0..<40 {
        let client = try stage.raw()
        try client.send(request)
        #expect(String(decoding: client.rest().bytes, as: UTF8.self).hasPrefix("HTTP/1.1 403 "))
      }
    }
    let metrics = try PrometheusText(String(try stage.control("metrics").dropFirst(3)))
    #expect(try metrics.value("bearerd_refusals_total", ["service": "", "code": "caller-not-allowed"]) == 121)
    // The limit of log lines is per interval of ten seconds, and a second interval may have begun.
    let lines = stage.log.lines(of: .request).count
    #expect((50...101).contains(lines), "\(lines)")
    #expect(try othersAreServed(stage))
    stage.assertCanary(times: 1)
  }

  @Test func `T54: by default, one user cannot use all connections`() throws {
    let stage = try Stage()
    try stage.start(configuration(stage, "connections: 16"))
    let open = try (0..<12).map { _ in try stage.raw() }
    for client in open {
      try client.send(stage.head("GET"))
      #expect(try client.response().body == "hello")
    }
    #expect(isRefused(try stage.raw()))
    #expect(try othersAreServed(stage))
    stage.assertCanary(times: isRoot ? 13 : 12)
  }

  @Test func `T54: a user at the request limit gets 429, and other users are served`() throws {
    let gate = Gate()
    let stage = try Stage { connection in
      while let request = try? connection.readRequest() {
        if request.text.contains("/hang") { gate.pass() }
        connection.respond("hello")
      }
    }
    try stage.start(configuration(stage, "requests_per_user: 3"))
    let hanging = try (0..<3).map { _ in try stage.raw() }
    for client in hanging { try client.send(stage.head("GET", "/api/hang")) }
    #expect(eventually { stage.recorded.components(separatedBy: "/hang").count == 4 })
    let more = try stage.raw()
    for _ in 0..<20 {
      try more.send(stage.head("GET"))
      let (head, body) = try more.response()
      #expect(head.hasPrefix("HTTP/1.1 429 Too Many Requests\r\n") && !head.contains("Connection: close"))
      #expect(body.contains("urn:bearerd:error:too-many-requests"))
    }
    // Requests that need no upstream do not count.
    try more.send(stage.head("GET", "/nowhere"))
    #expect(try more.response().head.hasPrefix("HTTP/1.1 404 "))
    #expect(try othersAreServed(stage))
    #expect(stage.log.wait(for: .request, ["status": 404]))
    #expect(stage.log.lines(of: .callerLimit).count == 1, "one line for all of them")
    #expect(!stage.log.contains(.request, ["refused": "too-many-requests"]))
    let metrics = try PrometheusText(String(try stage.control("metrics").dropFirst(3)))
    #expect(try metrics.value("bearerd_refusals_total", ["service": "api", "code": "too-many-requests"]) == 20)

    gate.open(times: 3)
    for client in hanging { #expect(try client.response().body == "hello") }
    try more.send(stage.head("GET"))
    #expect(try more.response().body == "hello")
    stage.assertCanary(times: isRoot ? 5 : 4)
  }

  /// With a limit of one request, a slot that is not released blocks the next request.
  @Test func `T54: a request counts until it ends, however it ends`() throws {
    let stage = try Stage { connection in
      while let request = try? connection.readRequest() {
        if request.text.contains("/close") { return }
        if request.text.contains("/hang") { return connection.readToEnd() }
        if request.text.contains("/switch") {
          connection.switchProtocols()
          connection.echo()
          return
        }
        connection.respond("hello")
      }
    }
    try stage.start(
      stage.configuration(
        more: "limits: { requests_per_user: 1 }",
        services: "  nowhere: { upstream: \"https://localhost:1/\", ca_file: ca.pem }"))
    func isFree() throws -> Bool { try eventually { try stage.get("/api/free").status == 200 } }
    #expect(try isFree())
    #expect(try stage.get("/api/close").status == 502)
    #expect(try isFree())
    #expect(try stage.get("/nowhere/x").status == 502)
    #expect(try isFree())
    let aborted = try stage.raw()
    try aborted.send(stage.head("GET", "/api/hang"))
    #expect(eventually { stage.recorded.contains("/hang") })
    #expect(try stage.get("/api/busy").status == 429)
    aborted.reset()
    #expect(try isFree())
    let incomplete = try stage.raw()
    try incomplete.send(stage.head("PUT", "/api/x", fields: "Content-Length: 10\r\n") + "12345")
    incomplete.shutdownSending()
    _ = incomplete.rest()
    #expect(try isFree())
    let malformed = try stage.raw()
    try malformed.send(stage.head("PUT", "/api/x", fields: "Transfer-Encoding: chunked\r\n") + "zz\r\n")
    #expect(String(decoding: malformed.rest().bytes, as: UTF8.self).hasPrefix("HTTP/1.1 400 "))
    #expect(try isFree())
    let upgraded = try stage.upgraded("/api/switch")
    #expect(try stage.echoes(upgraded))
    #expect(try stage.get("/api/busy").status == 429)
    upgraded.close()
    #expect(try isFree())
    #expect(!stage.recorded.contains("/busy"))
    stage.assertCanary(times: stage.recorded.components(separatedBy: stage.canary).count - 1)
  }
}
