internal import Console
internal import System

/// The output of the demo, at most 80 columns wide.
struct DemoReport {
  private let stage: DemoStage
  private let terminal: Terminal

  init(_ stage: DemoStage, terminal: Terminal) {
    self.stage = stage
    self.terminal = terminal
  }

  func showConfiguration() {
    say(
      """
      \(terminal.bold("A secret that the program never sees"))

      For this demo there is a new certificate authority, an upstream with TLS, a
      random token, and the configuration below. All are deleted at the end. The
      files are in
      \(stage.directory.path):

      \(indented(stage.configuration))
      """)
  }

  func showStart(port: UInt16) {
    say(
      """
      bearerd runs with this configuration. Programs send requests like this:

          \(terminal.bold("curl http://localhost:\(port)/demo/hello/world"))


      """)
  }

  func showInjection(sent: String, received: String, response: DemoResponse, version: String) {
    say(
      """
      \(terminal.bold("1  The program sends no credential; the upstream receives one"))

      \(columns(sent, received))
         The response: \(outcome(response, wanted: 200)), "\(response.body)"
         Before it sent a byte, bearerd verified chain, name and pin (\(version)).


      """)
  }

  func showRefusedPin(response: DemoResponse, connections: Int, bytes: Int) {
    say(
      """
      \(terminal.bold("2  A server with another key receives nothing"))

         The server at /impostor/ has a valid certificate for the same name, from
         the same authority. Only its key is different, and not pinned.

         The response: \(outcome(response, wanted: 502))
         Connections that the impostor saw: \(connections)
         Bytes of the request that it received: \(bytes == 0 ? terminal.good("0") : terminal.bad("\(bytes)"))


      """)
  }

  func showRefusedRule(response: DemoResponse) {
    say(
      """
      \(terminal.bold("3  A request that no rule allows is not sent"))

         GET /demo/admin
         The response: \(outcome(response, wanted: 403))


      """)
  }

  func conclude(_ failures: [String], port: UInt16, keepsServing: Bool) {
    let verdict =
      failures.isEmpty
      ? terminal.good("bearerd kept all promises.")
      : terminal.bad("bearerd broke promises:") + failures.map { "\n  - \($0)" }.joined()
    say(verdict + "\n\n")
    guard keepsServing else { return }
    say(
      """
      bearerd still listens at http://localhost:\(port). Try it in another terminal:

          \(terminal.bold("curl -i http://localhost:\(port)/demo/hello/you"))
          curl -i http://localhost:\(port)/impostor/
          curl -i http://localhost:\(port)/demo/admin
          curl -iH 'Origin: https://evil.test' http://localhost:\(port)/demo/hello/you
          \(InstalledDaemon.directory)/bearerctl explain GET /demo/admin \\
            --config \(stage.configurationFile)

      Ctrl-C ends the demo.

      """)
  }

  /// Prints a short form of a refused request's log line.
  func showRefusal(_ line: String) {
    func value(_ name: String) -> String {
      line.firstRange(of: " \(name)=").map { String(line[$0.upperBound...].prefix { $0 != " " }) } ?? "?"
    }
    say("bearerd refused    \(value("method")) \(value("path"))   \(value("status")) \(value("refused"))\n")
  }

  private func outcome(_ response: DemoResponse, wanted: Int) -> String {
    let text = "\(response.status) \(response.reason)" + (response.code.map { ", by bearerd: \($0)" } ?? "")
    return response.status == wanted ? terminal.good(text) : terminal.bad(text)
  }

  private func columns(_ left: String, _ right: String) -> String {
    let width = 35
    var lefts = ["what the program sent", String(repeating: "-", count: width)] + lines(left)
    var rights = ["what the upstream received", String(repeating: "-", count: width + 3)] + lines(right)
    while lefts.count < rights.count { lefts.append("") }
    while rights.count < lefts.count { rights.append("") }
    return zip(lefts, rights).map { left, right in
      let shown = right.hasPrefix("Authorization:") ? terminal.bold(right) : right
      let line = "   \(left.padded(to: width))  \(shown)"
      return right.isEmpty ? "   \(left)\n" : line + "\n"
    }.joined()
  }

  private func lines(_ head: String) -> [String] { head.split(separator: "\r\n").map { String($0).harmless } }

  private func indented(_ text: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false)
      .map { $0.isEmpty ? "\n" : "    \(terminal.dim(String($0)))\n" }.joined()
  }

  private func say(_ text: String) { StandardOutput.print(text) }
}
