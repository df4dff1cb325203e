internal import Console
internal import ArgumentParser
internal import System

/// `bearerctl reload`
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
    switch try client.ask("reload") {
    case .ok(let text):
      StandardOutput.print("reloaded: generation \(text.filter(\.isNumber)) is in use\n")
      // Then it is another file that the daemon at the usual place has read.
      if let broken = client.broken { throw Failure(Failure.no, broken) }
    case .error(let reason): throw Failure(Failure.no, "the old configuration stays in use:\n\(reason)")
    }
  }
}
