internal import ArgumentParser
internal import Demo

struct DemoCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "demo",
    abstract: "Show how bearerd works, with a TLS upstream and example requests.",
    usage: "bearerctl demo [--oauth | --grpc] [--once] [--port NUMBER]",
    discussion: """
      Shows what a program sends, what the upstream receives, and which requests bearerd refuses.

        bearerctl demo             show it, then let you try curl until Ctrl-C
        bearerctl demo --once      show it, and end
        bearerctl demo --oauth     show a login, and how its tokens are renewed
        bearerctl demo --grpc      show calls of a gRPC program

      The demo creates a certificate authority, an upstream with its keys, and a token. It prints a configuration, and \
      starts bearerd with this configuration. At the end, all of this is deleted. Nothing is installed, and no other machine is \
      contacted.

      Exits with 1 if bearerd broke a promise: for example, if it sent a byte to a server whose key is not pinned.
      """)

  @Flag(help: "End after the demonstration.")
  var once = false

  @Option(help: ArgumentHelp("The port of bearerd on localhost. 0 chooses a free port.", valueName: "number"))
  var port: UInt16 = 0

  @Flag(name: .customLong("oauth"), help: "Instead, show a login and how its tokens are renewed.")
  var showsLogin = false

  @Flag(name: .customLong("grpc"), help: "Instead, show calls of a gRPC program.")
  var showsGRPC = false

  func validate() throws {
    if showsLogin, showsGRPC { throw ValidationError("--oauth and --grpc show different demos. Choose one of them.") }
  }

  func run() throws {
    let demo = DemoRun(port: port, keepsServing: !once)
    if showsLogin { return try demo.showLogin() }
    if showsGRPC { try demo.showGRPC() } else { try demo.showInjection() }
  }
}
