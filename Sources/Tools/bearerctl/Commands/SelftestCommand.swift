internal import ArgumentParser
internal import Selftest

struct SelftestCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "selftest",
    abstract: "Attack bearerd under your configuration, and report what gets through.",
    usage: "bearerctl selftest [SERVICE] [--config FILE] [--json]",
    discussion: """
      Runs the attacks of docs/security/threats.md against a second bearerd, and prints the result of each attack.

        bearerctl selftest
        bearerctl selftest github
        sudo bearerctl selftest --config ~/.config/bearerd/bearerd.yaml    (also attacks as other users)

      The second bearerd runs with a temporary copy of your configuration. The copy has your rules, header policies and \
      limits, but its upstreams, keys, secrets, addresses and users are created for this test. Your secrets are not opened, \
      your daemon is not touched, and nothing leaves this machine.

      Root can test the file of another user. The second bearerd then reads the file as that user's own daemon would.

      Exits with 0 if nothing got through, with 1 if an attack got through, with 2 if the configuration cannot be used, and \
      with 71 if bearerd stops responding.
      """)

  @Argument(help: "The service to attack. Default: all services.")
  var service: String?

  @Option(config: "The configuration.")
  var config: String?

  @Flag(help: "Print one JSON document instead of lines.")
  var json = false

  func run() throws {
    let loaded = try LoadedConfiguration(config)
    try SelftestRun(loaded.settings, file: loaded.file, only: service, isJSON: json).run()
  }
}
