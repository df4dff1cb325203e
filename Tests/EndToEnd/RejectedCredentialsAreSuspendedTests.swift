import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// A credential that the upstream rejects repeatedly is suspended, because further attempts could lock the account.
@Suite(.waits) struct RejectedCredentialsAreSuspended {
  private static let unauthorized = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno"

  /// Runs `explain` with the default path of the control socket in the scratch directory.
  private func explain(_ url: String, _ stage: Stage, file: String = "bearerd.yaml") throws -> CommandResult {
    let directory = stage.scratch.path
    return try run(
      [RunningDaemon.binary("bearerctl"), "explain", "GET", url, "--config", "\(directory)/\(file)"],
      environment: ["RUNTIME_DIRECTORY": directory, "XDG_RUNTIME_DIR": directory])
  }

  @Test func `T41: explain shows a suspension, or the number of rejections that would cause one`() throws {
    let stage = try Stage(handler: UpstreamServer.httpHandler(response: Self.unauthorized))
    let file = stage.configuration(
      service: "rules: [{ match: /open, credential: none }, { match: \"/**\" }]",
      credential: "bearer: { file: canary.token }\n    suspend: { after: 2, for: 5m }")
    let usual = getuid() < 1_000 ? "control.sock" : "bearerd-control.sock"
    try stage.start("\(file)\ncontrol: \(usual)\n")
    #expect(try stage.get().status == 401)
    let before = try explain("/api/x", stage)
    #expect(before.status == 0 && before.output.hasSuffix("\nThe request would be sent.\n"), "\(before.output)")
    #expect(!before.output.contains("suspended now"), "\(before.output)")
    #expect(before.output.contains("suspended for 5 min after 2 rejections in a row"), "\(before.output)")

    for status in [401, 503] { #expect(try stage.get().status == status) }
    let suspended = try explain("/api/x", stage)
    #expect(suspended.status == 1 && suspended.errors.isEmpty, "\(suspended.errors)")
    #expect(
      suspended.output.contains(
        "  suspended now, for another 4 min: this upstream rejected the credential 2 times in a row\n"))
    #expect(
      suspended.output.hasSuffix("\nThe request would be refused now: 503 credential-suspended.\n"),
      "\(suspended.output)")
    let open = try explain("/api/open", stage)
    #expect(open.status == 0 && open.output.hasSuffix("\nThe request would be sent.\n"), "\(open.output)")

    // A daemon at the default path may run with another file, or there is no daemon at the path in the file.
    try stage.scratch.write("bearerd.yaml", file, mode: 0o644)
    #expect(try explain("/api/x", stage).status == 1)
    try stage.scratch.write("other.yaml", file, mode: 0o644)
    try stage.scratch.write("alone.yaml", "\(file)\ncontrol: nobody.sock\n", mode: 0o644)
    for name in ["other.yaml", "alone.yaml"] {
      let result = try explain("/api/x", stage, file: name)
      #expect(result.status == 0 && result.errors.isEmpty, "\(result.errors)")
      #expect(
        result.output.contains("\nThe request would be sent.\nNo daemon with this file could be asked,"),
        "\(result.output)")
    }
    stage.assertCanary(times: 2)
  }
}
