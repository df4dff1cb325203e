import Policy

/// How many loops there are, each with a thread of its own.
package enum WorkerCount: Sendable, Equatable {
  case fixed(Int)
  /// As many as there are processors for the process.
  case eachProcessor

  package static var most: Int { TopKey.workers.bounds.upperBound }
}

extension SettingsReader {
  func workers(_ node: YAMLNode) -> WorkerCount? {
    let wanted = "a whole number from 1 to \(WorkerCount.most), or auto"
    guard let text = text(node, wanted) else { return nil }
    if text == "auto" { return .eachProcessor }
    guard let number = decimal(text), TopKey.workers.bounds.contains(number) else {
      report.error(node.place, "\(quoted(text)) is not valid: expected \(wanted)")
      return nil
    }
    return .fixed(number)
  }
}
