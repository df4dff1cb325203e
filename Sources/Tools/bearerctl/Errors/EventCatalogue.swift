internal import Console
internal import StatusModel

enum EventCatalogue {
  static func described(_ event: LogEvent, _ terminal: Terminal) -> String {
    let row = event.row
    let sections =
      [("fields", row.fields.description), ("what happened", row.what.description)]
      + (row.todo.map { [("what to do", $0.description)] } ?? [])
    let paragraphs = sections.map { terminal.dim($0) + "\n" + wrapped($1, width: 78, indentation: "  ") + "\n" }
    return "\(terminal.bold(event.rawValue))  level \(levels(of: event))\n\n" + paragraphs.joined(separator: "\n")
  }

  static func list(_ terminal: Terminal) -> String {
    let width = LogEvent.allCases.map(\.rawValue.count).max() ?? 0
    return LogEvent.allCases.map { event in
      "  \(terminal.bold(event.rawValue.padded(to: width)))  \(levels(of: event))\n"
    }.joined()
  }

  /// - Parameter mark: Text before and after each level.
  static func levels(of event: LogEvent, mark: String = "") -> String {
    ([event.row.level] + (event.row.otherLevel.map { [$0] } ?? [])).map { mark + $0.rawValue + mark }
      .joined(separator: " or ")
  }
}
