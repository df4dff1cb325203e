internal import Console
internal import ArgumentParser
internal import Configuration
internal import Policy
internal import Presets
internal import Secrets
internal import Settings
internal import Loading
internal import System

struct Add: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Add a provider and its key.",
    usage:
      "bearerctl add [PRESET] [--name NAME] [--key-file FILE | --key-stdin] [--set NAME=VALUE ...] [--read-only] [--dry-run]",
    discussion: """
      After this, your programs can use the provider without the key. bearerctl asks for the key and does not show it.

        bearerctl add                                  list the providers
        bearerctl add openai
        bearerctl add github --read-only --name github-read
        pass show openai | bearerctl add openai --key-stdin
        bearerctl add azure-openai --set resource=my-resource --dry-run

      bearerctl writes two new files: secrets/NAME.key with the key, which only the daemon can read, and conf.d/NAME.yaml \
      with the service. If there is no configuration yet, it also writes bearerd.yaml. If the configuration of the \
      system's daemon does not name its users yet, bearerctl also writes conf.d/00-listener.yaml. Existing files are not changed.

      One harmless request tests the key. If the provider rejects the key, the new files are removed. Otherwise a running \
      daemon loads them.

      Exits with 0 if the provider was added, with 1 if not, and with 2 for wrong options or a configuration with errors.
      """)

  @Argument(
    help: "The provider. Without a name, the command lists all providers.", completion: .list(Preset.all.map(\.name)))
  var preset: String?

  @Option(help: "The name of the service. Default: the name of the preset.")
  var name: String?

  @Option(help: "Read the key from this file.", completion: .file())
  var keyFile: String?

  @Flag(help: "Read the key from standard input.")
  var keyStdin = false

  @Option(name: .customLong("set"), parsing: .singleValue, help: "Answer a question of the preset: NAME=VALUE.")
  var answers: [String] = []

  @Option(
    name: .customLong("ca-file"),
    help: "A PEM file with the certificate authorities to trust for the server. Default: those of the system.",
    completion: .file())
  var certificateFile: String?

  @Option(
    help:
      "The address for a registry, which needs its own port. Default: the address in the preset, such as localhost:5000."
  )
  var at: String?

  @Flag(help: "Allow only requests that read data.")
  var readOnly = false

  @Flag(name: .customLong("no-try"), help: "Do not test the key.")
  var noTry = false

  @Flag(help: "Print the files instead of writing them.")
  var dryRun = false

  @OptionGroup var daemon: ControlOptions

  func run() throws {
    guard let preset else { return StandardOutput.print(presetList) }
    let found = try findPreset(preset)
    let service = name ?? found.name
    guard ListenerSettings.isClientName(service) else {
      throw Failure(
        Failure.usage,
        "--name \"\(service.harmless)\" is not allowed: use at most 64 letters, digits, \"_\", \"-\" and \".\", and begin with a letter or digit"
      )
    }
    if readOnly, found.readOnlyRules.isEmpty {
      throw Failure(
        Failure.usage, "--read-only is not available for \(found.name): nearly all of its requests change data")
    }
    if at != nil, found.at == nil {
      throw Failure(Failure.usage, "--at is only for registries, and \(found.name) is not a registry")
    }
    let home = ConfigurationHome(daemon.config)
    try home.demandSafety()
    let questions = try Questions(answers, of: found)
    try checkFree(service, home)
    let added = AddedService(
      found, name: service, answers: try questions.answers(to: found), isReadOnly: readOnly,
      certificateFile: certificateFile.map(absolute), at: at)
    if dryRun { return try printFiles(added, home) }
    let secret = try questions.key(of: found, added.answers, file: keyFile, isStandardInput: keyStdin)
    if !found.keyPrefixes.isEmpty, !secret.begins(with: found.keyPrefixes) {
      Terminal.printError(
        "bearerctl: this does not look like a key of \(found.title). Its keys begin with \(found.keyPrefixes.joined(separator: " or "))\n"
      )
    }
    try write(added, secret, home)
  }

  private var presetList: String {
    let width = Preset.all.map(\.name.count).max() ?? 0
    let lines = Preset.all.map { "  \(Terminal.output.bold($0.name.padded(to: width)))  \($0.title)\n" }.joined()
    return "bearerctl add NAME adds one of these:\n\n\(lines)\n"
      + "\"generic\" is for any API that takes a key in a header.\n"
  }

  private func findPreset(_ name: String) throws -> Preset {
    if let preset = Preset.named(name) { return preset }
    let guess = Suggestion.nearest(to: name, in: Preset.all.map(\.name)).map { ": did you mean \"\($0)\"?" }
    let hint = guess ?? ". \"bearerctl add\" lists the presets. For any other API, use \"generic\""
    throw Failure(Failure.usage, "there is no preset \"\(name.harmless)\"\(hint)")
  }

  /// Throws if the service's name is in use, or if the main file does not include the service's new file.
  private func checkFree(_ name: String, _ home: ConfigurationHome) throws {
    for path in [home.part(name), home.secret(name)] where FileStatus(path: path) != nil {
      throw Failure(
        Failure.no,
        "\(path) already exists. Choose another --name, or run \"bearerctl remove \(name)\" first. Nothing was changed")
    }
    guard FileStatus(path: home.file) != nil else { return }
    guard try home.includes(home.part(name)) else {
      throw Failure(
        Failure.usage,
        "\(home.file) does not include \(home.parts). Add the line \"include: [conf.d/*.yaml]\" to it. Nothing was changed"
      )
    }
    let isTaken: Bool
    if try home.needsListener() {
      // Without a listener, the configuration cannot be loaded yet.
      let tree = try? ConfigurationLoader.tree(of: home.file)
      isTaken = tree?["services"]?[name] != nil || tree?["credentials"]?[name] != nil
    } else {
      let settings = try Add.settings(home)
      isTaken =
        settings.rules.services.contains { $0.name == name } || settings.credentials.contains { $0.name == name }
    }
    if isTaken {
      throw Failure(
        Failure.no,
        "the configuration already has a service or credential \"\(name)\". Choose another --name. Nothing was changed")
    }
  }

  /// Loads the settings. If the configuration has errors, prints them and throws `failure`.
  static func settings(
    _ home: ConfigurationHome,
    failure: Failure = Failure(Failure.usage, "the configuration has the errors above. Nothing was changed")
  ) throws -> DaemonSettings {
    do throws(LoadError) { return try home.load().settings } catch {
      for finding in error.diagnostics where finding.severity == .error { Terminal.printError("\(finding)\n\n") }
      throw failure
    }
  }

  private func printFiles(_ added: AddedService, _ home: ConfigurationHome) throws {
    var text = try home.firstFile(FirstConfiguration()).map { "# \($0.path)\n\($0.text)\n" } ?? ""
    text += "# \(home.part(added.name))\n\(AddedFiles.marked(added.yaml(secretFile: home.secret(added.name))))\n"
    text += "# \(home.secret(added.name)) (mode \(String(home.secretMode, radix: 8))): only the key\n"
    StandardOutput.print(text)
  }

  private func write(_ added: AddedService, _ secret: borrowing IncomingSecret, _ home: ConfigurationHome) throws {
    let files = try AddedFiles(in: home)
    do {
      // Another "bearerctl add" may have used the name while the user looked for the key.
      try checkFree(added.name, home)
      try files.write(added, secret)
      let problem = "with this service, the configuration has the errors above. Nothing was changed"
      let settings = try Add.settings(home, failure: Failure(Failure.no, problem))
      if !noTry, let trial = added.preset.trial { try testKey(added, trial, settings, home) }
      let running = try RunningDaemon(settings, control: daemon.control)
      if let problem = try running?.reload() {
        throw Failure(
          Failure.no, "the running daemon cannot load the new configuration:\n\(problem)\nNothing was changed")
      }
      let names = files.written.map { "\($0)\n" }.joined(separator: "       ")
      StandardOutput.print("\(Terminal.output.good("added"))  \(names)")
      finish(added, settings, running, home)
    } catch {
      files.undo()
      throw error
    }
  }

  /// Tests the key through a private daemon, and throws `Failure` if the provider rejects the key.
  private func testKey(
    _ added: AddedService, _ trial: Preset.Trial, _ settings: DaemonSettings, _ home: ConfigurationHome
  ) throws {
    guard let service = settings.rules.services.first(where: { $0.name == added.name }) else { return }
    let listener = settings.listeners[service.listener].name
    // The running daemon could refuse the current user's requests.
    let own: PrivateDaemon
    do { own = try PrivateDaemon(configuration: home.file, isAudited: false) } catch let failure as Failure {
      return Terminal.printError("bearerctl: the key was not tested: \(failure.message)\n")
    }
    let addresses = own.ports(of: listener).map { "127.0.0.1:\($0)" }
    let request = "\(trial.method) \(added.origin)\(added.filled(trial.path))"
    switch withExtendedLifetime(own, { KeyTrial.run(added, trial, service, addresses) }) {
    case .works(let status): StandardOutput.print("tried  \(request): \(status), the key works\n")
    case .unknown(let reason): StandardOutput.print("tried  \(request): \(reason)\n")
    case .rejected(let status):
      throw Failure(
        Failure.no,
        "\(added.preset.title) does not accept this key: \(request) returned \(status). Nothing was changed")
    }
  }

  private func finish(
    _ added: AddedService, _ settings: DaemonSettings, _ running: RunningDaemon?, _ home: ConfigurationHome
  ) {
    let variables = (try? ConfiguredVariables(settings, services: [added.name], running))?.variables ?? []
    var text = callers(of: added, settings)
    if running == nil {
      let program = "bearerctl run \(added.name)\(home.configOption) -- PROGRAM"
      text +=
        home.file == ConfigurationLoader.systemFile
        ? "\nStart the daemon: sudo \(home.startCommand)\nRun a program with it: \(program)\n"
        : "\nRun one program with it: \(program)\nKeep bearerd running for all programs: \(home.startCommand)\n"
    }
    if !variables.isEmpty {
      text += "\nPrograms need these variables (eval \"$(bearerctl env \(added.name)\(home.configOption))\"):\n\n"
      text += VariableFormat.sh.text(variables).split(separator: "\n").map { "    \($0)\n" }.joined()
    }
    if let service = settings.rules.services.first(where: { $0.name == added.name }) {
      let listener = settings.listeners[service.listener]
      let authority = listener.authority((try? running?.ports(of: listener.name)) ?? [])
      let notes = ServiceVariables(service, authority: authority, preset: added.preset.name).notes
      if !notes.isEmpty { text += "\n" + wrapped(notes) + "\n" }
    }
    StandardOutput.print(text)
  }

  /// Returns a note that names the users who may use the service; empty unless root runs the command.
  private func callers(of added: AddedService, _ settings: DaemonSettings) -> String {
    guard Users.currentUID == 0, let service = settings.rules.services.first(where: { $0.name == added.name }),
      let uids = settings.listeners[service.listener].callers.uids
    else { return "" }
    let names = uids.sorted().map { Users.name(ofUID: $0) ?? "\($0)" }
    return
      "       only programs of \(names.joined(separator: ", ").harmless) may use this service (allow_users of the listener)\n"
  }
}
