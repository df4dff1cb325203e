/// Why the daemon cannot start, or a new configuration cannot be used.
package enum StartError: Error, Sendable, CustomStringConvertible {
  case configuration([Diagnostic])
  /// The system refused something, such as an address in use, or memory that cannot be locked.
  case system(String)

  package var description: String {
    switch self {
    case .configuration(let diagnostics): diagnostics.map(\.description).joined(separator: "\n")
    case .system(let text): text
    }
  }

  /// The error in one line, for the log.
  package var summary: String {
    switch self {
    case .configuration(let diagnostics): "errors in the configuration: \(diagnostics.count { $0.severity == .error })"
    case .system(let text): text
    }
  }
}
