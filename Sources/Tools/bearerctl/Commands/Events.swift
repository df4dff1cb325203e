internal import ArgumentParser
internal import Configuration
internal import Console
internal import StatusModel
internal import System

struct Events: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Explain what an event in the log means and what to do.",
    usage: "bearerctl events [EVENT]",
    discussion: """
      Each line of the log has an "event". The command prints what the event means, its fields, and what you can do.

        bearerctl events                 list all events
        bearerctl events token-failed    explain one event

      Exits with 2 if there is no such event.
      """)

  @Argument(help: "The event.", completion: .list(LogEvent.allCases.map(\.rawValue)))
  var event: String?

  func run() throws {
    guard let event else {
      return StandardOutput.print(
        EventCatalogue.list(.output) + "\n\"bearerctl events EVENT\" explains what an event means and what to do.\n")
    }
    guard let found = LogEvent(rawValue: event) else {
      let nearest = Suggestion.nearest(to: event, in: LogEvent.allCases.map(\.rawValue))
      throw Failure(
        Failure.usage,
        "there is no event \"\(event.harmless)\""
          + (nearest.map { ": did you mean \"\($0)\"?" } ?? ". \"bearerctl events\" lists all events"))
    }
    StandardOutput.print(EventCatalogue.described(found, .output))
  }
}
