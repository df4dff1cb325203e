internal import Log
package import StatusModel
package import TestSupport

extension DaemonLog {
  package func lines(of event: LogEvent, _ fields: [String: LoggedField] = [:]) -> [LoggedLine] {
    lines(named: event.rawValue, fields)
  }

  package func contains(_ event: LogEvent, _ fields: [String: LoggedField] = [:]) -> Bool {
    !lines(of: event, fields).isEmpty
  }

  /// Waits until `count` lines of an event have these fields.
  @discardableResult
  package func wait(for event: LogEvent, _ fields: [String: LoggedField] = [:], count: Int = 1) -> Bool {
    wait { self.lines(of: event, fields).count >= count }
  }

  /// Lines that do not match the event table.
  package var unexpectedLines: [LoggedLine] { lines.filter { !$0.matchesEventTable } }
}

extension LoggedLine {
  /// Whether level and fields match the row of the event, in order.
  fileprivate var matchesEventTable: Bool {
    guard let row = LogEvent(rawValue: self["event"] ?? "")?.row else { return false }
    guard self["level"] == row.level.rawValue || self["level"] == row.otherLevel?.rawValue else { return false }
    var remaining = ("\(row.fields)".split(separator: " "))[...]
    for (name, _) in fields.drop(while: { $0.name != "event" }).dropFirst() {
      guard let index = remaining.firstIndex(where: { $0 == name }) else { return false }
      remaining = remaining[(index + 1)...]
    }
    return true
  }
}
