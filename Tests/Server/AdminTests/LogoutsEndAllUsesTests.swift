import TestServer
import Foundation
import ServerSupport
import TestSupport
import Testing

/// A logout ends all requests and connections of its credential, and none of other credentials (T46).
@Suite(.inProcess) struct LogoutsEndAllUses {
  /// Serves a WebSocket at `/ws` and an event stream at `/events`. `/hang` responds after `gate` opens, other paths
  /// immediately.
  private static func handler(_ gate: Gate, _ hanging: Gate) -> @Sendable (AcceptedConnection) -> Void {
    { connection in
      while let request = try? connection.readRequest() {
        switch request.path {
        case "/ws":
          connection.switchProtocols()
          connection.echo()
          return
        case "/events":
          connection.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n")
          gate.pass()
          connection.send("data: 2\n\n")
          return
        case "/hang":
          hanging.open()
          gate.pass()
          connection.respond("late")
        default: connection.respond("hello")
        }
      }
    }
  }

  /// A WebSocket, an event stream and a pending request with one credential.
  private struct Uses {
    let socket: RawClient
    let events: RawClient
    let hanging: RawClient

    init(_ stage: Stage, _ service: String, _ isHanging: Gate) throws {
      socket = try stage.upgraded("/\(service)/ws")
      #expect(try stage.echoes(socket))
      events = try stage.raw()
      try events.send(stage.head("GET", "/\(service)/events"))
      _ = try events.head()
      _ = try events.line(endingWith: "data: 1\n\n")
      hanging = try stage.raw()
      try hanging.send(stage.head("GET", "/\(service)/hang"))
      #expect(isHanging.pass())
    }
  }

  @Test(arguments: [1, 3])
  func `T46: a logout ends the credential's connections, streams, WebSockets and requests, and no others`(
    workers: Int
  ) throws {
    let (gate, isHanging) = (Gate(), Gate())
    let stage = try TokenStage(handler: Self.handler(gate, isHanging))
    defer { gate.open(times: 9) }
    stage.enableRevocation()
    // Accepts connections, but completes no TLS handshake.
    let mute = try UpstreamServer(chain: [], options: .plain) { connection in connection.readToEnd() }
    let waiting =
      "  slow: { upstream: \"https://localhost:\(mute.port)/\", ca_file: ca.pem, pins: [\(stage.stage.leaf.pin), \(stage.stage.backup.pin)], credential: canary }"
    let text = stage.configuration(TokenStage.person, more: stage.revocation, services: waiting, workers: workers)
    try stage.stage.start(
      stage.stage.addSecondCredential(in: text).replacing(
        "origins: [\"\(stage.stage.origin)\"]\n    oauth2",
        with: "origins: [\"\(stage.stage.origin)\", \"https://localhost:\(mute.port)\"]\n    oauth2"))
    let mine = try Uses(stage.stage, "api", isHanging)
    let others = try Uses(stage.stage, "second", isHanging)
    #expect(try stage.stage.get().status == 200)
    #expect(try stage.stage.get("/second/x").status == 200)
    let late = try stage.stage.raw()
    try late.send(stage.stage.head("GET", "/slow/x"))
    #expect(mute.wait { $0.count == 1 })
    let sent = stage.stage.recorded.components(separatedBy: "Bearer \(stage.stage.canary)\r\n").count - 1
    #expect(sent == 4)

    let report = try stage.stage.logOut()
    #expect(report.cut["waiting"] == 1 && report.cut["under_way"] == 1, "\(report.cut)")
    #expect(report.cut["answers"] == 1 && report.cut["upgraded"] == 1, "\(report.cut)")
    #expect(report.cut["idle"] == 1 && (report.cut["resumable"] ?? 0) > 0, "\(report.cut)")
    // Each request gets one response, or its connection is closed.
    let refused = try mine.hanging.response()
    #expect(refused.head.contains(" 503 ") && refused.body.contains("error:logged-out\""), "\(refused)")
    let never = try late.response()
    #expect(never.head.contains(" 503 ") && never.body.contains("error:login-required\""), "\(never)")
    #expect(mine.socket.rest().ending != .silent && mine.events.rest().ending != .silent)
    for client in [mine.hanging, late] {
      try client.send(stage.stage.head("GET", "/api/x"))
      #expect(try client.response().body.contains("error:login-required\""))
    }
    // The other credential is not affected.
    #expect(try stage.stage.echoes(others.socket, "still here"))
    gate.open(times: 9)
    #expect(try others.events.line(endingWith: "data: 2\n\n").contains("data: 2"))
    #expect(try others.hanging.response().body == "late")
    #expect(try stage.stage.get("/second/x").status == 200)
    #expect(
      stage.stage.upstream.wait { records in
        records.filter { String(decoding: $0.bytes, as: UTF8.self).contains(stage.stage.canary) }
          .allSatisfy(\.isFinished)
      })
    #expect(mute.wait { $0.allSatisfy(\.isFinished) })
    #expect(report.revoked == [["refresh_token", ""], ["access_token", ""]])
    stage.assertSecrets(times: sent)
    stage.stage.assertCanary(times: 5, secret: Stage.secondSecret)
  }

  @Test(arguments: [1, 2])
  func `T46: no upstream connection from before a logout sends the credential afterwards`(workers: Int) throws {
    let stage = try TokenStage()
    stage.enableRevocation()
    try stage.start(TokenStage.person, more: stage.revocation, workers: workers)
    let clients = try (0..<100).map { _ in try stage.stage.client() }
    let head = try stage.stage.head("GET")
    func sendAll() throws -> [LocalClient.Response] {
      for client in clients { try client.send(head) }
      return try clients.map { try $0.response() }
    }
    #expect(try sendAll().allSatisfy { $0.status == 200 })
    try stage.stage.logOut()
    let status = try stage.stage.control("status")
    let pool = #""credential":"canary","http_version":"1.1","idle":0,"active":0,"#
    #expect(status.contains(pool), "nothing is pooled")
    #expect(try sendAll().allSatisfy { $0.isRefused("login-required") })
    let responses = try sendAll()
    #expect(responses.allSatisfy { $0.isRefused("login-required") })
    #expect(stage.stage.upstream.wait { $0.allSatisfy(\.isFinished) })
    stage.assertSecrets(times: 100)
  }
}
