internal import Console
internal import ArgumentParser
internal import Configuration
internal import Setup
internal import System

/// `bearerctl init`
struct Init: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Write a first configuration.",
    usage: "bearerctl init [--yes] [--config FILE]",
    discussion: """
      Asks at most three things, writes the configuration, and can let systemd start the daemon. A configuration that is there \
      stays as it is; one that does not say who may ask gets a file for that in conf.d/. Services come afterwards: bearerctl add.

        bearerctl init
        sudo bearerctl init        for the system's daemon
        bearerctl init --yes       take the defaults, and do not start anything

      Exits with 0 if the configuration was written, and with 1 if not.
      """)

  @Flag(help: "Ask nothing: take the defaults, and start nothing.")
  var yes = false

  @Option(
    name: .shortAndLong, help: "The configuration. Default: where the daemon looks.",
    completion: .file(extensions: ["yaml"]))
  var config: String?

  func run() throws {
    let home = ConfigurationHome(config)
    try home.demandSafety()
    var first = FirstConfiguration()
    guard let (path, _) = try home.firstFile(first) else {
      throw Failure(
        Failure.no,
        "\(home.file) is there already, and stays as it is. \"bearerctl check\" judges it, \"bearerctl add\" adds to it"
      )
    }
    let terminal = yes ? nil : TerminalInput()
    if !yes, terminal == nil {
      throw Failure(Failure.usage, "there is no terminal to ask at: --yes takes the defaults")
    }
    if let terminal {
      first.port = try ask("Port on localhost", "\(first.port)", terminal) { UInt16($0).flatMap { $0 > 0 ? $0 : nil } }
      if let name = first.caller {
        first.caller = try ask("Which user's programs may use it", name, terminal) {
          Users.uid(named: $0) == nil ? nil : $0
        }
      }
    }
    do throws(SystemError) {
      try NewFile.directory(home.directory, mode: 0o755)
      try NewFile.directory(home.parts, mode: 0o755)
      try NewFile.directory(home.secrets, mode: home.secretsMode, group: home.secretGroup)
      try NewFile.create(path, path == home.file ? first.text : first.listenerText, mode: 0o644)
    } catch { throw Failure(Failure.no, "\(path) cannot be written: \(error). Nothing has changed") }
    StandardOutput.print(
      "written  \(path)\n\nNext: \"bearerctl add openai\" adds a provider; \"bearerctl add\" lists them.\n")
    try offerStart(home, terminal)
  }

  private func ask<Answer>(
    _ question: String, _ proposal: String, _ terminal: TerminalInput, _ read: (String) -> Answer?
  ) throws -> Answer {
    for _ in 0..<3 {
      terminal.show("\(question) [\(proposal)]: ")
      guard let line = terminal.line() else { break }
      let text = line.trimmed
      if let answer = read(text.isEmpty ? proposal : text) { return answer }
      terminal.show("\(text) cannot be used.\n")
    }
    throw Failure(Failure.no, "nothing was answered, and nothing was written")
  }

  /// Starting is systemd's; what it says is for the person.
  private func offerStart(_ home: ConfigurationHome, _ terminal: TerminalInput?) throws {
    guard let terminal, home.start.hasPrefix("systemctl") else {
      return StandardOutput.print("To start the daemon: \(home.start)\n")
    }
    terminal.show("Start it now, and whenever the machine or your session starts (\(home.start))? [Y/n] ")
    guard let line = terminal.line(), ["", "y", "yes"].contains(line.trimmed.lowercased()) else {
      return StandardOutput.print("To start the daemon: \(home.start)\n")
    }
    let error = Process.become(home.start.split(separator: " ").map(String.init), changes: [])
    throw Failure(Failure.system, "\(error)")
  }
}
