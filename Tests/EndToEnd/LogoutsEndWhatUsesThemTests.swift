import TestServer
import Foundation
import ServerSupport
import TestSupport
import Testing

/// Whoever logs a credential out ends all that uses it, and nothing of any other (T46).
@Suite(.waits) struct LogoutsEndWhatUsesThem {
  /// WebSockets at `ws`, event streams at `events`, silence until `gate` at `hang`, and answers elsewhere.
  private static func handler(_ gate: Gate, _ hanging: Gate) -> @Sendable (UpstreamConnection) -> Void {
    { connection in
      while let request = try? connection.readRequest() {
        switch request.path {
        case "/ws":
          connection.switchProtocols()
          connection.echo()
          return
        case "/events":
          connection.say("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n")
          gate.pass()
          connection.say("data: 2\n\n")
          return
        case "/hang":
          hanging.open()
          gate.pass()
          connection.answer("late")
        default: connection.answer("hello")
        }
      }
    }
  }

  /// All that one credential can have under way.
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
  func `T46: connections, streams, WebSockets, requests that run and that wait, and none of the other's`(
    workers: Int
  ) throws {
    let (gate, isHanging) = (Gate(), Gate())
    let stage = try TokenStage(handler: Self.handler(gate, isHanging))
    defer { gate.open(times: 9) }
    stage.revokes()
    // It takes connections and no handshake ends there.
    let mute = try UpstreamServer(chain: [], options: .plain) { connection in connection.readToEnd() }
    let waiting =
      "  slow: { upstream: \"https://localhost:\(mute.port)/\", ca_file: ca.pem, pins: [\(stage.stage.leaf.pin), \(stage.stage.backup.pin)], credential: canary }"
    let text = stage.configuration(TokenStage.person, more: stage.revocation, services: waiting, workers: workers)
    try stage.stage.start(
      stage.stage.second(in: text).replacing(
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
    // Each is answered once, or cut.
    let refused = try mine.hanging.answer()
    #expect(refused.head.contains(" 503 ") && refused.body.contains("error:logged-out\""), "\(refused)")
    let never = try late.answer()
    #expect(never.head.contains(" 503 ") && never.body.contains("error:login-required\""), "\(never)")
    #expect(mine.socket.rest().ending != .silent && mine.events.rest().ending != .silent)
    for client in [mine.hanging, late] {
      try client.send(stage.stage.head("GET", "/api/x"))
      #expect(try client.answer().body.contains("error:login-required\""))
    }
    // The other one does not notice.
    #expect(try stage.stage.echoes(others.socket, "still here"))
    gate.open(times: 9)
    #expect(try others.events.line(endingWith: "data: 2\n\n").contains("data: 2"))
    #expect(try others.hanging.answer().body == "late")
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
  func `T46: of 100 connections that were open before, none carries it any more`(workers: Int) throws {
    let stage = try TokenStage()
    stage.revokes()
    try stage.start(TokenStage.person, more: stage.revocation, workers: workers)
    let clients = try (0..<100).map { _ in try stage.stage.client() }
    let head = try stage.stage.head("GET")
    func ask() throws -> [LocalClient.Response] {
      for client in clients { try client.send(head) }
      return try clients.map { try $0.response() }
    }
    #expect(try ask().allSatisfy { $0.status == 200 })
    try stage.stage.logOut()
    let status = try stage.stage.control("status")
    #expect(status.contains("\"credential\":\"canary\",\"idle\":0,\"active\":0}"), "nothing is pooled")
    #expect(try ask().allSatisfy { $0.isRefused("login-required") })
    let answers = try ask()
    #expect(answers.allSatisfy { $0.isRefused("login-required") })
    #expect(stage.stage.upstream.wait { $0.allSatisfy(\.isFinished) })
    stage.assertSecrets(times: 100)
  }

  /// Locked memory, too, is looked through here.
  @Test(.enabled(if: isRoot && !isSanitized), arguments: [1, 3])
  func `T46: afterwards no memory of the process holds the tokens, in any worker`(workers: Int) throws {
    let stage = try TokenStage()
    stage.revokes()
    let daemon = try stage.start(TokenStage.person, more: stage.revocation, workers: workers)
    for _ in 0..<9 { #expect(try stage.stage.get().status == 200) }
    #expect(try ForeignMemory.places(of: stage.stage.canary, in: daemon.pid, isEverywhere: true) != [])
    #expect(try ForeignMemory.places(of: TokenStage.refresh, in: daemon.pid, isEverywhere: true) != [])
    try stage.stage.logOut()
    #expect(try ForeignMemory.places(of: stage.stage.canary, in: daemon.pid, isEverywhere: true) == [])
    #expect(try ForeignMemory.places(of: TokenStage.refresh, in: daemon.pid, isEverywhere: true) == [])
    stage.assertSecrets(times: 9)
  }
}
