internal import Console
internal import StatusModel

extension ReferencePage {
  static var events: ReferencePage {
    ReferencePage(
      "events.md",
      """
      # Log events

      Look up a line of the log by its `event`. Each entry has the levels and the fields that may follow. A field without a
      value is left out. [Logs](../operate/logs.md) explains how to read and search the log. `bearerctl events EVENT` prints the
      same text.

      """ + LogEvent.allCases.map(section).joined())
  }

  private static func section(_ event: LogEvent) -> String {
    """

    ## \(event.rawValue)

    \(wrapped("Level " + EventCatalogue.levels(of: event, mark: "**") + ". Fields: " + fields(of: event) + ".", width: 110))

    \(wrapped(event.row.what.description, width: 110))

    """ + (event.row.todo.map { "\n" + wrapped("**What to do.** \($0)", width: 110) + "\n" } ?? "")
  }

  private static func fields(of event: LogEvent) -> String {
    event.row.fields.description.split(separator: " ").map { "`\($0)`" }.joined(separator: ", ")
  }
}
