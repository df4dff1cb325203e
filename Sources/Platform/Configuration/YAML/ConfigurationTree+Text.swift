/// Writes a configuration as YAML.
extension ConfigurationTree {
  package var yaml: String { block(indentation: "") }

  private func block(indentation: String) -> String {
    guard case .mapping(let entries) = self, !entries.isEmpty else { return indentation + flow + "\n" }
    return entries.map { entry in
      let key = "\(indentation)\(Self.quoted(entry.key)):"
      guard case .mapping(let inner) = entry.value, !inner.isEmpty else { return "\(key) \(entry.value.flow)\n" }
      return "\(key)\n\(entry.value.block(indentation: indentation + "  "))"
    }.joined()
  }

  private var flow: String {
    switch self {
    case .scalar("", isPlain: true): ""
    case .scalar(let text, _): Self.quoted(text)
    case .sequence(let elements): "[\(elements.map(\.flow).joined(separator: ", "))]"
    case .mapping(let entries):
      "{ \(entries.map { "\(Self.quoted($0.key)): \($0.value.flow)" }.joined(separator: ", ")) }"
    }
  }

  /// Returns the text in double quotes, with escapes for quotes, backslashes and control characters.
  package static func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": quoted += "\\\(scalar)"
      case _ where scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value):
        let digits = String(scalar.value, radix: 16)
        quoted += "\\x" + (digits.utf8.count < 2 ? "0" : "") + digits
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }
}
