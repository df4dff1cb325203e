internal import Console
internal import ArgumentParser
internal import System

struct Reload: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Reload the configuration of the running daemon.",
    usage: "bearerctl reload [--control PATH | --config FILE]",
    discussion: """
      Reloads the configuration and prints the result. If the new configuration has errors, the daemon keeps the old one.

        bearerctl check && bearerctl reload
        bearerctl reload --config ~/.config/bearerd/bearerd.yaml

      SIGHUP also reloads, but then only the log has the result.

      Exits with 0 if the new configuration is in use, with 1 if the old one stays in use, and with 69 if no daemon answers.
      """)

  @OptionGroup var daemon: ControlOptions

  func run() throws {
    let client = try daemon.client()
    switch try client.send("reload") {
    case .ok(let text):
      StandardOutput.print("reloaded: generation \(text.filter(\.isNumber)) is in use\n")
      // The daemon at the default socket has then loaded another file.
      if let broken = client.configurationError { throw Failure(Failure.no, broken) }
    case .error(let reason): throw Failure(Failure.no, "the old configuration stays in use:\n\(reason)")
    }
  }
}
