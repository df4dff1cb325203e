internal import ArgumentParser
internal import Demo

/// `bearerctl demo`
struct DemoCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "demo",
    abstract: "See it work: a TLS upstream, the real bearerd in front of it, and requests.",
    usage: "bearerctl demo [--oauth] [--once] [--port NUMBER]",
    discussion: """
      Makes a certificate authority, an upstream with its keys, and a token, all of them new and thrown away at the \
      end; starts bearerd with a configuration that it prints; and shows what a program sends, what the upstream \
      receives, and what does not get through. Nothing is installed, and nothing outside this machine is asked.

        bearerctl demo             shows, then serves for your own curl until Ctrl-C
        bearerctl demo --once      shows, and ends
        bearerctl demo --oauth     shows a login, and how the tokens that it brings are renewed

      Exits with 1 if anything was not as promised: if a key that is not pinned received a single byte, say.
      """)

  @Flag(help: "End after showing.")
  var once = false

  @Option(help: ArgumentHelp("The port of bearerd on localhost; 0: a free one.", valueName: "number"))
  var port: UInt16 = 0

  @Flag(name: .customLong("oauth"), help: "Show a login, and how its tokens are renewed, instead.")
  var showsLogin = false

  func run() throws {
    let demo = DemoRun(port: port, goesOn: !once)
    if showsLogin { try demo.showLogin() } else { try demo.showInjection() }
  }
}
