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
  package var summary: String {
    switch self {
    case .configuration(let diagnostics): "errors in the configuration: \(diagnostics.count { $0.severity == .error })"
    case .system(let text): text
    }
  }
}
