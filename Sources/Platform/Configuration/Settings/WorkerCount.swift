import Policy

/// How many loops there are, each with a thread of its own.
package enum WorkerCount: Sendable, Equatable {
  case fixed(Int)
  /// As many as there are processors for the process.
  case eachProcessor

  /// Beyond that, threads wait for each other.
  package static let most = 64
}

extension SettingsReader {
  func workers(_ node: YAMLNode) -> WorkerCount? {
    let wanted = "a whole number from 1 to \(WorkerCount.most), or auto"
    guard let text = text(node, wanted) else { return nil }
    if text == "auto" { return .eachProcessor }
    guard let number = decimal(text), (1...WorkerCount.most).contains(number) else {
      report.error(node.place, "expected \(wanted), not \(quoted(text))")
      return nil
    }
    return .fixed(number)
  }
}
