package import Log
package import TestSupport

extension DaemonLog {
  package func lines(of event: LogEvent, _ fields: [String: LoggedField] = [:]) -> [LoggedLine] {
    lines(named: event.rawValue, fields)
  }

  package func contains(_ event: LogEvent, _ fields: [String: LoggedField] = [:]) -> Bool {
    !lines(of: event, fields).isEmpty
  }

  /// Waits until there are so many lines of an event with these fields.
  @discardableResult
  package func wait(for event: LogEvent, _ fields: [String: LoggedField] = [:], count: Int = 1) -> Bool {
    wait { self.lines(of: event, fields).count >= count }
  }

  /// Lines that are not what the row of their event says.
  package var strangeLines: [LoggedLine] { lines.filter { !$0.isAsTabled } }
}

extension LoggedLine {
  /// Level and fields, in their order.
  fileprivate var isAsTabled: Bool {
    guard let row = LogEvent(rawValue: self["event"] ?? "")?.row else { return false }
    guard self["level"] == row.level.rawValue || self["level"] == row.otherLevel?.rawValue else { return false }
    var tabled = ("\(row.fields)".split(separator: " "))[...]
    for (name, _) in fields.drop(while: { $0.name != "event" }).dropFirst() {
      guard let index = tabled.firstIndex(where: { $0 == name }) else { return false }
      tabled = tabled[(index + 1)...]
    }
    return true
  }
}
