internal import Console
internal import ArgumentParser
internal import Presets
internal import Loading
internal import System

struct RunCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run",
    abstract: "Run a program that uses services, without giving it a key.",
    usage: "bearerctl run [SERVICE ...] [--clean] [--config FILE] -- COMMAND [ARGUMENT ...]",
    discussion: """
      The program gets the variables that bearerctl env prints, with placeholders in place of keys.

        bearerctl run openai -- python app.py
        bearerctl run -- claude
        bearerctl run --clean github -- ./deploy.sh

      If no daemon runs with the configuration, bearerctl starts one on free ports. This daemon ends when \
      the first process of the program ends. If your program then continues in the background, keep bearerd running instead.

      The program also sees the variables that are already set. If some of them usually hold keys, bearerctl prints their \
      names. With --clean, bearerctl removes the variables that usually hold keys. The program still sees all other \
      variables.

      The program replaces bearerctl. The program receives all signals, and its exit status is the result of this command.
      """)

  @Argument(help: "Names of services. Default: all services.")
  var services: [String] = []

  @Flag(help: "Remove variables that usually hold keys from the program's environment.")
  var clean = false

  @Option(config: "The configuration. Default: your own, or the system's if you have none.")
  var config: String?

  var command: [String] = []

  private enum CodingKeys: CodingKey { case services, clean, config }

  /// Splits the arguments of `bearerctl run` at the first `--`.
  static func split(_ arguments: [String]) -> (own: [String], program: [String]) {
    guard arguments.first == configuration.commandName, let end = arguments.firstIndex(of: "--") else {
      return (arguments, [])
    }
    return (Array(arguments[..<end]), Array(arguments[(end + 1)...]))
  }

  func run() throws {
    guard !command.isEmpty else {
      throw Failure(
        Failure.usage, "the program is missing. Write it after --, for example: bearerctl run -- python app.py")
    }
    let loaded = try LoadedConfiguration(config)
    let ports: any ListenerPorts
    let started: PrivateDaemon?
    if let running = try RunningDaemon(loaded.settings) {
      (ports, started) = (running, nil)
    } else if loaded.file == ConfigurationLoader.systemFile, Users.currentUID >= 1000 {
      throw Failure(
        Failure.unavailable,
        "the system's bearerd is not running, and only it can read the keys. Start it: sudo systemctl enable --now bearerd"
      )
    } else {
      let daemon = try PrivateDaemon(configuration: loaded.file)
      (ports, started) = (daemon, daemon)
    }
    for line in started?.unusable ?? [] { Terminal.printError("bearerd: \(line)\n") }
    let pairs = ProcessEnvironment.value("GIT_CONFIG_COUNT").flatMap { Int($0) } ?? 0
    let configured = try ConfiguredVariables(
      loaded.settings, services: services, ports, gitPairs: (0...10_000).contains(pairs) ? pairs : 0)
    for note in configured.notes { Terminal.printError("bearerctl: \(note)\n") }
    let otherKeys = KeyVariables.present(excluding: configured.variables.map(\.name))
    if !otherKeys.isEmpty, !clean {
      Terminal.printError(
        "bearerctl: the program also sees \(otherKeys.joined(separator: ", ")), which may contain keys. --clean removes such variables\n"
      )
    }
    let changes =
      configured.variables.map { ($0.name, Optional($0.value)) } + (clean ? otherKeys.map { ($0, String?.none) } : [])
      + ProxyVariables.withoutLocalhost.map { ($0, Optional($1)) }
    let error = withExtendedLifetime(started) { Process.exec(command, changes: changes) }
    // The exit statuses of shells: 127 if the program is missing, 126 if it cannot be executed.
    throw Failure(error.isNotFound ? 127 : 126, "\(error.description.harmless)")
  }
}

enum KeyVariables {
  static func present(excluding names: [String]) -> [String] {
    let replaced = Set(names)
    return known.filter { !replaced.contains($0) && ProcessEnvironment.value($0) != nil }
  }

  private static var known: [String] {
    let ofPresets = Set(Preset.all.flatMap(\.variables).filter(\.isKey).map(\.name))
    return ofPresets.union(others).sorted()
  }

  /// Key variables that no preset names.
  private static let others = [
    "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AZURE_CLIENT_SECRET", "CI_JOB_TOKEN",
    "CLOUDFLARE_API_KEY", "DATABASE_URL", "GH_TOKEN", "GITHUB_PAT", "GITHUB_TOKEN", "GITLAB_TOKEN", "GOOGLE_API_KEY",
    "GOOGLE_APPLICATION_CREDENTIALS", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "NODE_AUTH_TOKEN", "NPM_TOKEN",
    "OPENAI_ADMIN_KEY", "PGPASSWORD", "SLACK_BOT_TOKEN", "STRIPE_SECRET_KEY", "TWINE_PASSWORD", "TWILIO_AUTH_TOKEN",
  ]
}

enum ProxyVariables {
  /// `NO_PROXY` and `no_proxy` with localhost added; empty without a proxy.
  static var withoutLocalhost: [(name: String, value: String)] {
    let proxies = ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"]
    guard proxies.contains(where: { ProcessEnvironment.value($0) != nil }) else { return [] }
    return ["NO_PROXY", "no_proxy"].map { name in
      let before = ProcessEnvironment.value(name).map { [$0] } ?? []
      return (name, (before + ["localhost", "127.0.0.1", "::1"]).joined(separator: ","))
    }
  }
}
