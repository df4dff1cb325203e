internal import Configuration
package import Log
internal import StatusModel

extension StartError {
  /// Logs each error as one line, without its excerpt of the source text.
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
