import Policy
import Primitives
internal import Settings

/// Readers of single values and lists, which return `nil` after an error.
extension SettingsReader {
  /// Reads text that is not empty. `wanted` completes the sentence "expected …".
  func text(_ node: YAMLNode, _ wanted: String) -> String? {
    guard let text = scalar(node, wanted) else { return nil }
    guard !text.isEmpty else {
      report.error(node.location, "the value is empty: expected \(wanted)")
      return nil
    }
    return text
  }

  /// Reads text that may be empty if it has quotes.
  func scalar(_ node: YAMLNode, _ wanted: String) -> String? {
    switch node.content {
    case .refused: return nil
    case .sequence, .mapping:
      report.error(node.location, "expected \(wanted)")
      return nil
    case .scalar(let text, _):
      guard !node.isAbsent else {
        report.error(node.location, "the value is empty: expected \(wanted)")
        return nil
      }
      // The check of the whole file does not see escapes like `"\u0000"`.
      if let scalar = text.unicodeScalars.first(where: { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) }) {
        report.error(
          node.location,
          "the value has a control character (\(codePoint(scalar))), which is not allowed: expected \(wanted)")
        return nil
      }
      return text
    }
  }

  func boolean(_ node: YAMLNode) -> Bool? {
    guard let text = text(node, "true or false") else { return nil }
    switch text {
    case "true": return true
    case "false": return false
    default:
      let meant =
        ["yes": "true", "on": "true", "no": "false", "off": "false"][ASCII.lowercased(text)]
        ?? Suggestion.nearest(to: text, in: ["true", "false"])
      report.error(
        node.location, "\(quoted(text)) is not valid: expected true or false", help: meant.map { "did you mean \($0)?" }
      )
      return nil
    }
  }

  func boolean<Key: ConfigurationKey>(_ key: Key, of fields: Fields<Key>) -> Bool? {
    fields[key].flatMap { boolean($0) }
  }

  /// Whether the text is a word like `no` or `disabled`.
  static func meansOff(_ text: String) -> Bool {
    ["off", "false", "no", "never", "none", "disabled", "disable", "0"].contains(ASCII.lowercased(text))
  }

  func integer(_ node: YAMLNode, in range: ClosedRange<Int>) -> Int? {
    let wanted = "a whole number from \(range.lowerBound) to \(range.upperBound)"
    guard let text = text(node, wanted) else { return nil }
    guard let number = decimal(text), range.contains(number) else {
      report.error(node.location, "\(quoted(text)) is not valid: expected \(wanted)")
      return nil
    }
    return number
  }

  func choice<Value>(_ node: YAMLNode, _ choices: [(word: String, value: Value)]) -> Value? {
    let words = choices.map(\.word)
    guard let text = text(node, listed(words)) else { return nil }
    if let choice = choices.first(where: { $0.word == text }) { return choice.value }
    let help = Suggestion.nearest(to: text, in: words).map { "did you mean \"\($0)\"?" }
    report.error(node.location, "\(quoted(text)) is not valid: expected \(listed(words))", help: help)
    return nil
  }

  /// Reads one of the words of an enumeration.
  func choice<Word: CaseIterable & RawRepresentable<String>>(_ node: YAMLNode) -> Word? {
    choice(node, Word.allCases.map { ($0.rawValue, $0) })
  }

  func choice<Key: ConfigurationKey, Word: CaseIterable & RawRepresentable<String>>(
    _ key: Key, of fields: Fields<Key>
  ) -> Word? {
    fields[key].flatMap { choice($0) }
  }

  /// Reads a list, which may be empty.
  func list(_ node: YAMLNode, of wanted: String) -> [YAMLNode]? {
    switch node.content {
    case .sequence(let nodes): return nodes
    case .refused: return nil
    case .scalar(let text, _) where !node.isAbsent && Self.isName(text):
      report.error(node.location, "expected a list of \(wanted)", help: "write [\(text)]")
      return nil
    case .scalar, .mapping:
      report.error(
        node.location, "expected a list of \(wanted)",
        help: "write [one, two], or one line for each that begins with \"- \"")
      return nil
    }
  }

  /// Reads a list that is not empty.
  func filledList(_ node: YAMLNode, of wanted: String) -> [YAMLNode]? {
    guard let nodes = list(node, of: wanted) else { return nil }
    guard !nodes.isEmpty else {
      report.error(node.location, "the list is empty: expected \(wanted)")
      return nil
    }
    return nodes
  }

  /// Parses a decimal number of at most 18 digits. `nil` for any other text.
  func decimal(_ text: String) -> Int? {
    guard !text.isEmpty, text.utf8.count <= 18, text.utf8.allSatisfy(ASCII.isDigit) else { return nil }
    return Int(text)
  }
}
