internal import Console
internal import ArgumentParser
internal import System

struct Init: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Write a first configuration.",
    usage: "bearerctl init [--yes] [--config FILE]",
    discussion: """
      Asks at most three questions, writes the configuration, and can let systemd start the daemon.

        bearerctl init
        sudo bearerctl init        for the system's daemon
        bearerctl init --yes       use the defaults, and start nothing

      An existing configuration is not changed. If it does not name the users who may use bearerd, \
      bearerctl writes conf.d/00-listener.yaml. Then add services with bearerctl add.

      Exits with 0 if the configuration was written, and with 1 if not.
      """)

  @Flag(help: "Use the defaults without asking, and start nothing.")
  var yes = false

  @Option(config: "The configuration. Default: the file that the daemon reads.")
  var config: String?

  func run() throws {
    let home = ConfigurationHome(config)
    try home.demandSafety()
    var first = FirstConfiguration()
    guard let (path, _) = try home.firstFile(first) else {
      throw Failure(
        Failure.no,
        "\(home.file) already exists and was not changed. \"bearerctl check\" checks it, \"bearerctl add\" adds a provider"
      )
    }
    let terminal = yes ? nil : TerminalInput()
    if !yes, terminal == nil {
      throw Failure(Failure.usage, "there is no terminal for questions. --yes uses the defaults")
    }
    if let terminal {
      first.port = try ask("Port on localhost", "\(first.port)", terminal) { UInt16($0).flatMap { $0 > 0 ? $0 : nil } }
      if let name = first.caller {
        first.caller = try ask("Which user's programs may use bearerd", name, terminal) {
          Users.uid(named: $0) == nil ? nil : $0
        }
      }
    }
    do throws(SystemError) {
      try NewFile.createDirectory(home.directory, mode: 0o755)
      try NewFile.createDirectory(home.parts, mode: 0o755)
      try NewFile.createDirectory(home.secrets, mode: home.secretsMode, group: home.secretGroup)
      try NewFile.create(path, path == home.file ? first.text : first.listenerText, mode: 0o644)
    } catch { throw Failure(Failure.no, "\(path) cannot be written: \(error). Nothing was changed") }
    StandardOutput.print(
      "written  \(path)\n\nNext: \"bearerctl add openai\" adds a provider, and \"bearerctl add\" lists all providers.\n"
    )
    try offerStart(home, terminal)
  }

  private func ask<Answer>(
    _ question: String, _ proposal: String, _ terminal: TerminalInput, _ read: (String) -> Answer?
  ) throws -> Answer {
    for _ in 0..<3 {
      terminal.show("\(question) [\(proposal)]: ")
      guard let line = terminal.readLine() else { break }
      let text = line.trimmed
      if let answer = read(text.isEmpty ? proposal : text) { return answer }
      terminal.show("\(text) cannot be used.\n")
    }
    throw Failure(Failure.no, "you gave no usable answer. Nothing was written")
  }

  private func offerStart(_ home: ConfigurationHome, _ terminal: TerminalInput?) throws {
    guard let terminal, home.startCommand.hasPrefix("systemctl") else {
      return StandardOutput.print("To start the daemon: \(home.startCommand)\n")
    }
    terminal.show("Start bearerd now, and each time the machine or your session starts (\(home.startCommand))? [Y/n] ")
    guard let line = terminal.readLine(), ["", "y", "yes"].contains(line.trimmed.lowercased()) else {
      return StandardOutput.print("To start the daemon: \(home.startCommand)\n")
    }
    let error = Process.exec(home.startCommand.split(separator: " ").map(String.init), changes: [])
    throw Failure(Failure.system, "\(error)")
  }
}
