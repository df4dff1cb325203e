import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// A credential that the upstream keeps rejecting does not go there again and again: that would lock the account.
@Suite(.waits) struct RejectedCredentialsAreHeldBack {
  private static let unauthorized = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno"
  private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

  /// Accepts one secret and rejects every other.
  private static func judge(_ good: String) -> @Sendable (UpstreamConnection) -> Void {
    UpstreamServer.recordingHTTP { request in Array((request.text.contains(good) ? ok : unauthorized).utf8) }
  }

  private static func bearer(_ suspend: String) -> String {
    "bearer: { file: canary.token }\n    suspend: \(suspend)"
  }

  @Test func `T41: of several that connect at once when the time is over, one goes out`() throws {
    let (count, answer) = (Counter(), Gate())
    let stage = try Stage { connection in
      guard (try? connection.readRequest()) != nil else { return }
      switch count.add() {
      case 0: connection.answer("no", status: "401 Unauthorized", fields: "Connection: close\r\n")
      case 1: connection.answer("no", status: "500 No", fields: "Connection: close\r\n")
      default:
        answer.pass()
        connection.answer("ok", fields: "Connection: close\r\n")
      }
    }
    try stage.start(stage.configuration(credential: Self.bearer("{ after: 1, for: 3s }")))
    #expect(try stage.get().status == 401)
    #expect(try eventually { try stage.get().status == 500 }, "it says nothing of the credential: the next one may try")
    let refused = stage.log.lines(of: .request, ["refused": "credential-suspended"]).count
    // Known before: while it was being looked up for one, another's handshake could end.
    let (clients, head) = (try (0..<10).map { _ in try stage.client() }, try stage.head("GET"))
    // All in one turn: while each was being served, another's handshake could end as well.
    let pid = stage.daemon!.pid
    kill(pid, SIGSTOP)
    for client in clients { try client.send(head) }
    kill(pid, SIGCONT)
    #expect(stage.log.wait(for: .request, ["refused": "credential-suspended"], count: refused + 9))
    answer.open(times: 10)
    #expect(try clients.map { try $0.response().status }.sorted() == [200] + Array(repeating: 503, count: 9))
    stage.assertCanary(times: 3)
  }

  /// The usual place of the control socket is in the scratch directory.
  private func explain(_ url: String, _ stage: Stage, file: String = "bearerd.yaml") throws -> CommandResult {
    let directory = stage.scratch.path
    return try run(
      [RunningDaemon.binary("bearerctl"), "explain", "GET", url, "--config", "\(directory)/\(file)"],
      environment: ["RUNTIME_DIRECTORY": directory, "XDG_RUNTIME_DIR": directory])
  }

  @Test func `T41: explain says what is held back now, only of that, and before, when it would come to that`() throws {
    let stage = try Stage(handler: Self.judge("nobody"))
    let file = stage.configuration(
      service: "rules: [{ match: /open, credential: none }, { match: \"/**\" }]",
      credential: Self.bearer("{ after: 2, for: 5m }"))
    let usual = getuid() < 1_000 ? "control.sock" : "bearerd-control.sock"
    try stage.start("\(file)\ncontrol: \(usual)\n")
    #expect(try stage.get().status == 401)
    let before = try explain("/api/x", stage)
    #expect(before.status == 0 && before.output.hasSuffix("\nThe request would be sent.\n"), "\(before.output)")
    #expect(!before.output.contains("suspended now"), "\(before.output)")
    #expect(before.output.contains("suspended for 5 min after 2 rejections in a row"), "\(before.output)")

    for status in [401, 503] { #expect(try stage.get().status == status) }
    let held = try explain("/api/x", stage)
    #expect(held.status == 1 && held.errors.isEmpty, "\(held.errors)")
    #expect(
      held.output.contains(
        "  suspended now, for another 4 min: this upstream rejected the credential 2 times in a row\n"))
    #expect(held.output.hasSuffix("\nThe request would be refused now: 503 credential-suspended.\n"), "\(held.output)")
    let open = try explain("/api/open", stage)
    #expect(open.status == 0 && open.output.hasSuffix("\nThe request would be sent.\n"), "\(open.output)")

    // Found at the usual place; but what is there may run with another file, or nobody is where the file says.
    try stage.scratch.write("bearerd.yaml", file, mode: 0o644)
    #expect(try explain("/api/x", stage).status == 1)
    try stage.scratch.write("other.yaml", file, mode: 0o644)
    try stage.scratch.write("alone.yaml", "\(file)\ncontrol: nobody.sock\n", mode: 0o644)
    for name in ["other.yaml", "alone.yaml"] {
      let alone = try explain("/api/x", stage, file: name)
      #expect(alone.status == 0 && alone.errors.isEmpty, "\(alone.errors)")
      #expect(
        alone.output.contains("\nThe request would be sent.\nNo daemon with this file could be asked,"),
        "\(alone.output)")
    }
    stage.assertCanary(times: 2)
  }
}
