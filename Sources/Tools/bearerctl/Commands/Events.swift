internal import ArgumentParser
internal import Console
internal import Log
internal import System

/// `bearerctl events`: every event of the log, as a page; `make generate` writes it to `docs/events.md`.
struct Events: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "What the events in the log mean, and what to do.")

  func run() {
    StandardOutput.print(
      """
      # Events in the log

      Every `event` that a line of [the log](log.md) can have, with its level and the fields that may follow. Fields without a
      value are left out.

      This page is printed by `bearerctl events`.

      """ + LogEvent.allCases.map(section).joined())
  }

  private func section(_ event: LogEvent) -> String {
    let row = event.row
    let level = ([row.level] + (row.otherLevel.map { [$0] } ?? [])).map { "**\($0.rawValue)**" }
    let fields = row.fields.description.split(separator: " ").map { "`\($0)`" }
    let todo = row.todo.map { " *What to do.* \($0)" } ?? ""
    return """

      ## \(event.rawValue)

      \(wrapped("\(level.joined(separator: " or ")), with \(fields.joined(separator: ", ")).", width: 110))

      \(wrapped(row.what.description + todo, width: 110))

      """
  }
}
