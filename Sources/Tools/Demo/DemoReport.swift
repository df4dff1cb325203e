internal import Console
internal import System

/// The output of the demo, at most 80 columns wide.
struct DemoReport {
  let stage: DemoStage
  let terminal: Terminal

  func showConfiguration() {
    say(
      terminal.introduction(
        "A secret that the program never sees",
        setup: "a new certificate authority, an upstream with TLS, a random token",
        directory: stage.directory.path, configuration: stage.configuration))
  }

  func showStart(port: UInt16) {
    say(
      """
      bearerd runs with this configuration. Programs send requests like this:

          \(terminal.bold("curl http://localhost:\(port)/demo/hello/world"))


      """)
  }

  func showInjection(sent: String, received: String, response: Reply, version: String) {
    say(
      """
      \(terminal.bold("1  The program sends no credential; the upstream receives one"))

      \(columns(sent, received))
         The response: \(terminal.outcome(response, wanted: 200)), "\(response.body)"
         Before it sent a byte, bearerd verified chain, name and pin (\(version)).


      """)
  }

  func showRefusedPin(response: Reply, connections: Int, bytes: Int) {
    say(
      """
      \(terminal.bold("2  A server with another key receives nothing"))

         The server at /impostor/ has a valid certificate for the same name, from
         the same authority. Only its key is different, and not pinned.

         The response: \(terminal.outcome(response, wanted: 502))
         Connections that the impostor saw: \(connections)
         Bytes of the request that it received: \(bytes == 0 ? terminal.good("0") : terminal.bad("\(bytes)"))


      """)
  }

  func showRefusedRule(response: Reply) {
    say(
      """
      \(terminal.bold("3  A request that no rule allows is not sent"))

         GET /demo/admin
         The response: \(terminal.outcome(response, wanted: 403))


      """)
  }

  func conclude(_ failures: [String], port: UInt16, keepsServing: Bool) {
    say(terminal.verdict(failures) + "\n\n")
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
    func value(_ name: String) -> String { line.loggedValue(name) ?? "?" }
    say("bearerd refused    \(value("method")) \(value("path"))   \(value("status")) \(value("refused"))\n")
  }

  private func columns(_ left: String, _ right: String) -> String {
    terminal.columns(
      ["what the program sent"] + lines(left), ["what the upstream received"] + lines(right), bold: "Authorization:")
  }

  private func lines(_ head: String) -> [String] { head.split(separator: "\r\n").map { String($0).harmless } }
}

func say(_ text: String) { StandardOutput.print(text) }

extension Terminal {
  func outcome(_ response: Reply, wanted: Int) -> String {
    let text = "\(response.status) \(response.reason)" + (response.code.map { ", by bearerd: \($0)" } ?? "")
    return response.status == wanted ? good(text) : bad(text)
  }

  func verdict(_ failures: [String]) -> String {
    failures.isEmpty
      ? good("bearerd kept all promises.")
      : bad("bearerd broke promises:") + failures.map { "\n  - \($0)" }.joined()
  }

  /// Two columns of lines, each below its title, which is the first line.
  /// - Parameter prefix: the beginning of lines on the right that are bold.
  func columns(_ lefts: [String], _ rights: [String], bold prefix: String) -> String {
    let width = 35
    var (lefts, rights) = (lefts, rights)
    lefts.insert(String(repeating: "-", count: width), at: 1)
    rights.insert(String(repeating: "-", count: width + 3), at: 1)
    while lefts.count < rights.count { lefts.append("") }
    while rights.count < lefts.count { rights.append("") }
    return zip(lefts, rights).map { left, right in
      let line = "   \(left.padded(to: width))  \(right.hasPrefix(prefix) ? bold(right) : right)"
      return right.isEmpty ? "   \(left)\n" : line + "\n"
    }.joined()
  }

  /// The beginning of a demo.
  /// - Parameter setup: what there is for it, apart from the configuration.
  func introduction(_ title: String, setup: String, directory: String, configuration: String) -> String {
    let lines = configuration.split(separator: "\n", omittingEmptySubsequences: false)
      .map { $0.isEmpty ? "\n" : "    \(dim(String($0)))\n" }
    return """
      \(bold(title))

      \(wrapped("For this demo there is \(setup), and the configuration below. All are deleted at the end. The files are in"))
      \(directory):

      \(lines.joined())
      """
  }
}
