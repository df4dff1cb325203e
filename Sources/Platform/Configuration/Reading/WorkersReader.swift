internal import Policy
internal import Settings

extension SettingsReader {
  func workers(_ node: YAMLNode) -> WorkerCount? {
    let wanted = "a whole number from 1 to \(WorkerCount.maximum), or auto"
    guard let text = text(node, wanted) else { return nil }
    if text == "auto" { return .eachProcessor }
    guard let number = decimal(text), TopKey.workers.bounds.contains(number) else {
      report.error(node.location, "\(quoted(text)) is not valid: expected \(wanted)")
      return nil
    }
    return .fixed(number)
  }
}
