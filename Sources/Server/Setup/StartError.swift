package import Configuration

/// Why the daemon cannot start, or a new configuration cannot be used.
package enum StartError: Error, Sendable, CustomStringConvertible {
  /// Findings in the file.
  case configuration([Diagnostic])
  /// The machine said no: an address in use, memory that cannot be locked.
  case system(String)

  package var description: String {
    switch self {
    case .configuration(let diagnostics): diagnostics.map(\.description).joined(separator: "\n")
    case .system(let text): text
    }
  }

  /// One line, for the log.
  var summary: String {
    switch self {
    case .configuration(let diagnostics): "errors in the configuration: \(diagnostics.count { $0.severity == .error })"
    case .system(let text): text
    }
  }
}

extension StartError {
  /// One line per finding: a log shows no carets.
  func report(to journal: AccessLog) {
    guard case .configuration(let findings) = self else { return }
    for finding in findings where finding.severity == .error {
      let help = finding.help.map { "; \($0.split(separator: "\n").joined(separator: " "))" } ?? ""
      journal.event(.error, "configuration", ("line", String(finding.line)), ("detail", finding.message + help))
    }
  }
}
