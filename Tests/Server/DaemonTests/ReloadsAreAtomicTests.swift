import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// A reload applies the whole new configuration, or none of it and reports the reason (T47).
@Suite(.inProcess) struct ReloadsAreAtomic {
  /// Returns an upstream that sends half of the response to `/held`, and the other half when the gate opens.
  private func pausing(_ arrived: Gate, _ goes: Gate) -> @Sendable (AcceptedConnection) -> Void {
    { connection in
      while let request = try? connection.readRequest() {
        let isPaused = String(decoding: request.head, as: UTF8.self).contains("/held")
        let response = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"
        guard (try? connection.write(Array((response + (isPaused ? "ha" : "fine")).utf8))) != nil else { return }
        if isPaused {
          arrived.open()
          goes.pass(seconds: 20)
          guard (try? connection.write(Array("lf".utf8))) != nil else { return }
        }
      }
    }
  }

  private func startPausedRequest(_ stage: Stage, _ arrived: Gate, path: String = "/api/held") throws -> LocalClient {
    let client = try stage.client()
    try client.send("GET \(path) HTTP/1.1\r\nHost: localhost:\(try stage.daemon!.port())\r\n\r\n")
    #expect(arrived.pass())
    return client
  }

  static let short = "limits: { revoked_grace: 100ms }"

  @Test func `T47: a broken file changes nothing, and log and control socket report the reason`() throws {
    let stage = try Stage()
    try stage.start()
    for broken in ["alow_users: [0]", "services: [", "", "credentials: { x: { origins: [http://a.test] } }"] {
      try stage.scratch.write("bearerd.yaml", stage.configuration().replacing("credential: canary", with: broken))
      try stage.daemon!.reload()
      #expect(try stage.get().status == 200)
      let response = try stage.control("reload")
      #expect(broken.isEmpty || response.hasPrefix("error\n"), "\(broken): \(response)")
      #expect(broken.isEmpty || response.contains("bearerd.yaml"), "\(broken): \(response)")
    }
    #expect(stage.log.contains(.reloadFailed))
    try stage.scratch.write("bearerd.yaml", stage.configuration())
    #expect(try stage.control("reload").hasPrefix("ok\n"))
    #expect(try stage.control("explode").hasPrefix("error\n"))
    #expect(try stage.control(String(repeating: "x", count: 300)).hasPrefix("error\n"))
    #expect(try stage.get().status == 200)
    stage.assertCanary(times: stage.recorded.components(separatedBy: stage.canary).count - 1)
  }

  @Test func `T47: changed rules decide the next request of the same connection`() throws {
    let stage = try Stage()
    try stage.start()
    let client = try stage.client()
    let head = "GET /api/x HTTP/1.1\r\nHost: localhost:\(try stage.daemon!.port())\r\n\r\n"
    for (rules, wanted) in [
      ("", 200), ("rules: [{ match: /x, deny: true }]", 403), ("rules: [{ match: /y }]", 403), ("", 200),
      ("allow_users: [12345]", 403),
    ] {
      try stage.reload(stage.configuration(service: rules))
      try client.send(head)
      #expect(try client.response().status == wanted, "\(rules)")
    }
    stage.assertCanary(times: 2)
  }

  @Test func `T47: a reload keeps, adds and removes listeners`() throws {
    let stage = try Stage()
    try stage.start()
    let port = try stage.daemon!.port()
    let client = try stage.client()
    let second = stage.configuration().replacing(
      "listeners:\n", with: "listeners:\n  second: { address: localhost:0, allow_users: [\(getuid())] }\n")
    try stage.reload(
      second.replacing("    credential: canary", with: "    at: /api/\n    credential: canary") + """
        # the same service, from the other listener

        """)
    #expect(try stage.daemon!.port() == port)
    try client.send("GET /api/x HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n")
    #expect(try client.response().status == 200)
    let other = try stage.client("second")
    let otherPort = try stage.daemon!.port("second")
    try other.send("GET /api/x HTTP/1.1\r\nHost: localhost:\(otherPort)\r\n\r\n")
    #expect([200, 404].contains(try other.response().status))

    try stage.reload(stage.configuration())
    #expect(throws: (any Error).self) { _ = try LocalClient(port: otherPort) }
    #expect(try stage.get().status == 200)
    stage.assertCanary(times: stage.recorded.components(separatedBy: stage.canary).count - 1)
  }

  @Test func `T47: an unrelated reload in between does not save a request that is no longer allowed`() throws {
    let (arrived, goes) = (Gate(), Gate())
    let stage = try Stage(handler: pausing(arrived, goes))
    try stage.start(stage.configuration(more: Self.short))
    let client = try startPausedRequest(stage, arrived)
    try stage.daemon!.reload()
    try stage.reload(stage.configuration(service: "rules: [{ match: /other }]", more: Self.short))
    #expect(throws: (any Error).self) { _ = try client.response() }
    goes.open(times: 4)
    stage.assertCanary(times: 1)
  }

  @Test func `T47: a request that is still allowed, or allowed again, is not aborted`() throws {
    let (arrived, goes) = (Gate(), Gate())
    let stage = try Stage(handler: pausing(arrived, goes))
    try stage.start(stage.configuration(more: Self.short))
    let client = try startPausedRequest(stage, arrived)
    try stage.reload(stage.configuration(service: "rules: [{ match: /held }, { match: /x }]", more: Self.short))
    // The permission is removed, and restored within the grace period.
    let long = "limits: { revoked_grace: 2s }"
    try stage.reload(stage.configuration(service: "rules: [{ match: /other }]", more: long))
    try stage.reload(stage.configuration(more: Self.short))
    // The abort of this request shows that the short grace period has passed on the daemon's clock.
    let cut = try startPausedRequest(stage, arrived, path: "/api/held/cut")
    try stage.reload(stage.configuration(service: "rules: [{ match: /held }]", more: Self.short))
    #expect(throws: (any Error).self) { _ = try cut.response() }
    goes.open(times: 8)
    #expect(try client.response().text == "half")
    stage.assertCanary(times: 2)
  }

  /// Each service loses a different permission that its pending request needs. `kept` and `load` lose none.
  private static func revoking(_ stage: Stage, _ isRevoked: Bool) -> String {
    func service(_ name: String, _ before: String, _ after: String) -> String {
      let pins = "pins: [\(stage.leaf.pin), \(stage.backup.pin)]"
      let line = (isRevoked ? after : before).replacing("PINS", with: pins)
      return "  \(name): { upstream: \"\(stage.origin)/base/\", ca_file: ca.pem, \(line) }"
    }
    return """
      limits: { revoked_grace: 100ms }
      listeners: { main: { address: localhost:0, allow_users: [\(getuid())] } }
      credentials: { canary: { origins: ["\(stage.origin)"], bearer: { file: canary.token } } }
      services:
      \(service("kept", "PINS, credential: canary", "PINS, credential: canary, rules: [{ match: /held }]"))
      \(service("load", "PINS, credential: canary", "PINS, credential: canary"))
      \(service("rule", "PINS, credential: canary", "PINS, credential: canary, rules: [{ match: /other }]"))
      \(service("grant", "PINS, credential: canary", "PINS, credential: none"))
      \(service("caller", "PINS, credential: canary", "PINS, credential: canary, allow_users: [12345]"))
      \(service("pin", "PINS, credential: canary", "credential: canary, pins: [\(stage.ca.pin), \(stage.backup.pin)]"))
      """
  }

  @Test func `T47: responses that a reload revokes are cut after revoked_grace, and other requests continue`() throws {
    let (arrived, goes) = (Gate(), Gate())
    let stage = try Stage { connection in
      while let request = try? connection.readRequest() {
        guard request.path == "/held" else {
          connection.respond("fine")
          continue
        }
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nha")
        arrived.open()
        goes.pass(seconds: 20)
        connection.send("lf")
      }
    }
    try stage.start(Self.revoking(stage, false))
    let port = try stage.daemon!.port()
    let load = SteadyLoad(callers: 4, port: port) { client, number in
      try client.send("GET /load/\(number) HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n")
      let response = try client.response()
      return response.body == "fine" ? nil : response.head
    }
    let names = ["kept", "rule", "grant", "caller", "pin"]
    let pending = try names.map { name in
      let client = try stage.raw()
      try client.send(stage.head("GET", "/\(name)/held"))
      #expect(arrived.pass())
      return client
    }
    try load.waitForResponses(20)
    try stage.reload(Self.revoking(stage, true))
    for (name, client) in zip(names, pending).dropFirst() {
      _ = try client.head()
      #expect(client.rest() == (Array("ha".utf8), .reset), "\(name)")
    }
    try load.waitForResponses(20)
    goes.open(times: names.count)
    #expect(try pending[0].response().body == "half")
    #expect(load.stop() == [])
    #expect(stage.log.lines(of: .request, ["aborted": "true"]).count == 4)
    stage.assertCanary(times: load.responseCount.count + names.count)
  }
}
