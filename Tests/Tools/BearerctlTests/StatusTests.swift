import Foundation
import TestSupport
import Testing

@Suite struct StatusTests {
  private func ask(_ response: String, _ arguments: String...) throws -> Run {
    let scratch = try Scratch()
    let path = "\(scratch.path)/c.sock"
    let server = try ControlServer(path: path, responses: [response])
    defer { server.stop() }
    let run = try Run(program: Run.binary, ["status", "--control", path] + arguments)
    #expect(server.requests == ["status\n"])
    return run
  }

  @Test(arguments: ["fine", "reload-failed", "suspended", "spent", "unrecorded", "tokens", "http1-required"])
  func `status prints the golden text`(_ name: String) throws {
    let run = try ask(
      StatusDocuments.response(
        problem: name == "reload-failed" ? "errors in the configuration: 1" : nil, isSuspended: name == "suspended",
        isSpent: name == "spent", requiresHTTP1: name == "http1-required",
        isUnrecorded: name == "unrecorded",
        hasTokens: name == "tokens"))
    #expect(run.status == 0)
    #expect(run.output == (try golden("status-\(name).txt", for: run.output)))
  }

  @Test
  func `status --json prints the daemon's response unchanged`() throws {
    let response = StatusDocuments.response()
    #expect(try ask(response, "--json").output == response.dropFirst("ok\n".count) + "\n")
    #expect(try Run("status", "--json", "--watch").status == 2)
  }

  @Test
  func `status escapes control characters`() throws {
    let run = try ask(
      StatusDocuments.response(problem: "a\\u001b[31mb").replacing("/etc/bearerd/bearerd.yaml", with: "\\u001b]0;x"))
    #expect(run.output.contains("a?[31mb") && run.output.contains("?]0;x"))
    #expect(!run.output.contains("\u{1B}"))
  }

  @Test
  func `status reports a daemon of another version, a refusal and a missing daemon`() throws {
    let other = try ask("ok\n{\"version\":\"9\"}\n")
    let old = try ask("error\nThis daemon does not know that request.\n")
    let none = try Run("status", "--control", "/nonexistent/c.sock")
    #expect(other.status == 69 && old.status == 1 && none.status == 69)
    let errors = (other.errors + old.errors + none.errors).replacing(/[^ ]+\/c\.sock/, with: "SOCKET")
    #expect(errors == (try golden("status-errors.txt", for: errors)))
    #expect(try Run("metrics", "--control", "/nonexistent/c.sock").status == 69)
  }

  @Test
  func `status and metrics print the state of a running daemon`() throws {
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
