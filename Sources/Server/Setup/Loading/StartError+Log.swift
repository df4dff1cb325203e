internal import Configuration
package import Log

extension StartError {
  /// One line per finding: a log shows no carets.
  package func report(to log: EventLog) {
    guard case .configuration(let findings) = self else { return }
    for finding in findings where finding.severity == .error {
      let help = finding.help.map { "; \($0.split(separator: "\n").joined(separator: " "))" } ?? ""
      log.event(
        .configuration, at: .error, ("file", finding.file), ("line", String(finding.line)),
        ("detail", finding.message + help))
    }
  }
}
