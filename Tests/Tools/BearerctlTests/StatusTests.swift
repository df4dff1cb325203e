import Foundation
import TestSupport
import Testing

@Suite struct StatusTests {
  private func ask(_ answer: String, _ arguments: String...) throws -> Run {
    let scratch = try Scratch()
    let path = "\(scratch.path)/c.sock"
    let server = try ControlServer(path: path, answers: [answer])
    defer { server.stop() }
    let run = try Run(program: Run.binary, ["status", "--control", path] + arguments)
    #expect(server.requests == ["status\n"])
    return run
  }

  @Test(arguments: ["fine", "reload-failed", "suspended", "spent", "unrecorded", "tokens"])
  func `what a person sees; UPDATE_GOLDEN=1 writes it anew`(_ name: String) throws {
    let run = try ask(
      StatusDocuments.answer(
        problem: name == "reload-failed" ? "errors in the configuration: 1" : nil, isSuspended: name == "suspended",
        isSpent: name == "spent", isUnrecorded: name == "unrecorded",
        hasTokens: name == "tokens"))
    #expect(run.status == 0)
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
      "Golden/status-\(name).txt")
    if ProcessInfo.processInfo.environment["UPDATE_GOLDEN"] != nil {
      try run.output.write(to: file, atomically: true, encoding: .utf8)
    }
    #expect(run.output == (try String(contentsOf: file, encoding: .utf8)))
  }

  @Test
  func `--json is the daemon's answer as it is`() throws {
    let answer = StatusDocuments.answer()
    #expect(try ask(answer, "--json").output == answer.dropFirst("ok\n".count) + "\n")
    #expect(try Run("status", "--json", "--watch").status == 2)
  }

  @Test
  func `what would drive a terminal is not repeated`() throws {
    let run = try ask(
      StatusDocuments.answer(problem: "a\\u001b[31mb").replacing("/etc/bearerd/bearerd.yaml", with: "\\u001b]0;x"))
    #expect(run.output.contains("a?[31mb") && run.output.contains("?]0;x"))
    #expect(!run.output.contains("\u{1B}"))
  }

  @Test
  func `a daemon of another version, one that refuses, and none`() throws {
    let other = try ask("ok\n{\"version\":\"9\"}\n")
    #expect(other.status == 69 && other.errors.contains("another version"))
    let old = try ask("error\nThis daemon does not know that request.\n")
    #expect(old.status == 1 && old.errors.contains("does not know that request"))
    let none = try Run("status", "--control", "/nonexistent/c.sock")
    #expect(none.status == 69 && none.errors.contains("no daemon answers at /nonexistent/c.sock"))
    #expect(try Run("metrics", "--control", "/nonexistent/c.sock").status == 69)
  }

  @Test
  func `a running daemon: text, JSON and metrics`() throws {
    let scratch = try Scratch()
    let file = try scratch.write(
      "bearerd.yaml",
      """
      listeners: { main: { address: localhost:0, allow_users: [\(getuid())] } }
      services: { a: { upstream: https://a.example/, credential: none } }
      control: control.sock

      """, mode: 0o644)
    let daemon = try RunningDaemon(configuration: file)
    let text = try Run("status", "--config", file)
    #expect(text.status == 0)
    #expect(text.output.contains("\n  a  /a/  https://a.example  no pins  no requests  0 refused\n"), "\(text.output)")
    let json = try Run("status", "--json", "--config", file)
    #expect(try JSONSerialization.jsonObject(with: Data(json.output.utf8)) is [String: Any])
    let metrics = try Run("metrics", "--config", file)
    #expect(metrics.status == 0 && metrics.output.hasPrefix("# HELP bearerd_"))
    #expect(daemon.stop() == 0)
  }
}
