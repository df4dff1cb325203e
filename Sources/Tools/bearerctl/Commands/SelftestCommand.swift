internal import ArgumentParser
internal import Selftest

/// `bearerctl selftest`
struct SelftestCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "selftest",
    abstract: "Would attacks get through, with my configuration on this machine?",
    usage: "bearerctl selftest [SERVICE] [--config FILE] [--json]",
    discussion: """
      Starts the installed bearerd under a throw-away configuration that has the shape of yours: your rules, header \
      policies and limits, but upstreams, keys, secrets, addresses and users that are made for this run. Then it plays \
      the attacks of docs/security/threats.md against it, and says of each what came of it. Your secrets are not opened, your daemon is not \
      touched, and nothing leaves this machine.

        bearerctl selftest
        bearerctl selftest github
        sudo bearerctl selftest --config ~/.config/bearerd/bearerd.yaml    (other users, too)

      Root may take the file of another user: it is judged as that user's own daemon would.
      Exits with 0 if nothing got through, with 1 if something did, with 2 if the configuration cannot be used, and \
      with 71 if bearerd stops answering.
      """)

  @Argument(help: "The service to attack. (default: all)")
  var service: String?

  @Option(name: .shortAndLong, help: "The configuration.", completion: .file(extensions: ["yaml"]))
  var config: String?

  @Flag(help: "One JSON document instead of lines.")
  var json = false

  func run() throws {
    let loaded = try LoadedConfiguration(config)
    try SelftestRun(loaded.settings, file: loaded.file, only: service, isJSON: json).run()
  }
}
