/// A message about a configuration file, with its location, the source line, and help.
package struct Diagnostic: Error, Sendable, Equatable, CustomStringConvertible {
  package enum Severity: String, Sendable { case error, warning, advice }
  package let severity: Severity
  package let file: String
  /// The line, counted from 1. 0 if the message is about the whole file.
  package let line: Int
  /// The column, counted from 1 in Unicode scalars.
  package let column: Int
  /// The number of columns that the caret underlines.
  package let length: Int
  package let message: String
  /// What the user should do, such as `did you mean "origins"?`.
  package let help: String?
  /// The source line without control characters and secrets.
  package let sourceLine: String?

  package init(
    severity: Severity, file: String, line: Int = 0, column: Int = 0, length: Int = 1, message: String,
    help: String? = nil, sourceLine: String? = nil
  ) {
    self.severity = severity
    self.file = file
    self.line = line
    self.column = column
    self.length = length
    self.message = message
    self.help = help
    self.sourceLine = sourceLine
  }

  /// `FILE:LINE:COLUMN: error: message`, the source line, the caret line, and `help: …`, without a closing newline.
  package var description: String {
    var text = line > 0 ? "\(file):\(line):\(column): " : "\(file): "
    text += "\(severity.rawValue): \(message)"
    if let sourceLine, line > 0 {
      text += "\n" + sourceLine + "\n" + caret(below: sourceLine)
    }
    if let help {
      text += "\nhelp: " + help
    }
    return text
  }

  private func caret(below sourceLine: String) -> String {
    let width = sourceLine.unicodeScalars.count
    let start = min(max(column, 1) - 1, width)
    // The caret is past the end of the line if something is missing there.
    let underlined = min(max(length, 1), max(width - start, 1))
    return String(repeating: " ", count: start) + "^" + String(repeating: "~", count: underlined - 1)
  }

  /// Returns an error about the whole file.
  package static func about(file: String, _ message: String, help: String? = nil) -> Diagnostic {
    Diagnostic(severity: .error, file: file, length: 0, message: message, help: help)
  }
}
