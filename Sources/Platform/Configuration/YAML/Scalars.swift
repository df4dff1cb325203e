internal import Policy
import Primitives
internal import Settings

/// Readers of single values and lists, which return `nil` after an error.
extension SectionReader {
  /// Reads text that is not empty. `wanted` completes the sentence "expected …".
  func text(_ node: YAMLNode, _ wanted: String) -> String? {
    guard let text = scalar(node, wanted) else { return nil }
    guard !text.isEmpty else { return report.error(node.location, "the value is empty: expected \(wanted)") }
    return text
  }

  /// Reads text that may be empty if it has quotes.
  func scalar(_ node: YAMLNode, _ wanted: String) -> String? {
    switch node.content {
    case .refused: return nil
    case .sequence, .mapping:
      return report.error(node.location, "expected \(wanted)")
    case .scalar(let text, _):
      guard !node.isAbsent else { return report.error(node.location, "the value is empty: expected \(wanted)") }
      // The check of the whole file does not see escapes like `"\u0000"`.
      if let scalar = text.unicodeScalars.first(where: { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) }) {
        return report.error(
          node.location,
          "the value has a control character (\(codePoint(scalar))), which is not allowed: expected \(wanted)")
      }
      return text
    }
  }

  func text<Key: ConfigurationKey>(_ key: Key, of fields: Fields<Key>) -> String? {
    fields[key].flatMap { text($0, "text for \"\(key.rawValue)\"") }
  }

  func converted<Value>(_ node: YAMLNode, _ wanted: String, _ convert: (String) -> Value?) -> Value? {
    guard let text = text(node, wanted) else { return nil }
    return convert(text) ?? report.error(node.location, "\(quoted(text)) is not valid: expected \(wanted)")
  }

  func parsed<Value>(
    _ node: YAMLNode, _ wanted: String, _ parse: (String) throws(PolicySyntaxError) -> Value
  ) -> Value? {
    text(node, wanted).flatMap { parsed($0, at: node.location, parse) }
  }

  func parsed<Text, Value>(
    _ text: Text, at location: TextLocation, help: String? = nil,
    _ parse: (Text) throws(PolicySyntaxError) -> Value
  ) -> Value? {
    do throws(PolicySyntaxError) {
      return try parse(text)
    } catch {
      return report.error(location, error.message, help: help)
    }
  }

  /// Reads a URL without parts that may contain secrets, and parses it.
  func url<Value>(
    _ node: YAMLNode, _ wanted: String, _ parse: (String) throws(PolicySyntaxError) -> Value
  ) -> Value? {
    guard let text = text(node, wanted), checkURL(text, at: node.location) else { return nil }
    return parsed(text, at: node.location, parse)
  }

  func endpoint<Key: ConfigurationKey>(_ key: Key, of fields: Fields<Key>, like example: String) -> Endpoint? {
    fields[key].flatMap { url($0, "a URL like \(example)", Endpoint.init(parsing:)) }
  }

  /// Reads the URL of an authorization server or a login, which may have a query (RFC 6749 sections 3.1 and 3.2).
  /// - Parameter sent: The lowercase names of parameters that bearerd sends itself.
  func endpointWithQuery<Key: ConfigurationKey>(
    _ key: Key, of fields: Fields<Key>, like example: String, sent: Set<String> = []
  ) -> Endpoint? {
    guard let node = fields[key], let text = text(node, "a URL like \(example)") else { return nil }
    guard URLCheck(text) == .query else { return endpoint(key, of: fields, like: example) }
    let base = String(text.prefix { $0 != "?" })
    guard checkURL(base, at: node.location),
      let result = parsed(text, at: node.location, Endpoint.init(parsingWithQuery:))
    else { return nil }
    for name in result.parameterNames {
      let lowercased = ASCII.lowercased(name)
      if SecretGuess.isSecretParameter(lowercased) {
        return report.error(
          node.location,
          "the query of this URL has a parameter whose name is usually that of a secret, and secrets are not allowed in this file",
          help:
            "delete it from the URL, and send the secret with client_secret, or with parameters, headers, form or json: { NAME: { file: FILE } }"
        )
      }
      if sent.contains(lowercased) {
        return report.error(
          node.location,
          "the query of this URL has \(quoted(name)), which bearerd sends itself: a parameter must not be sent twice",
          help: "delete it from the URL")
      }
    }
    if text.split(whereSeparator: { "?&=".contains($0) }).dropFirst().contains(where: {
      SecretGuess.isLikely(String($0), after: "")
    }) {
      report.warning(
        node.location, "the query of this URL looks like a secret, and everyone who can read this file can see it")
    }
    return result
  }

  /// Reads a path, and makes it absolute.
  func path(_ node: YAMLNode, _ wanted: String) -> String? {
    guard var text = text(node, wanted) else { return nil }
    if text.hasPrefix("/") { return text }
    if text.hasPrefix("~") {
      return report.error(
        node.location, "bearerd does not expand ~ in paths",
        help: "write an absolute path, or a path relative to this file")
    }
    while text.hasPrefix("./") { text.removeFirst(2) }
    let directory = directory(of: report.path(ofFile: node.location.file))
    return directory == "/" ? "/" + text : directory + "/" + text
  }

  func directory(of file: String) -> String {
    guard let slash = file.lastIndex(of: "/") else { return "." }
    return slash == file.startIndex ? "/" : String(file[..<slash])
  }

  /// Reads a path in JSON, such as `data.token` or `tokens.0`.
  func jsonPath(_ node: YAMLNode, _ wanted: String) -> [String]? {
    let maxDepth = 8
    guard let text = text(node, "\(wanted), like data.token") else { return nil }
    let names = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard names.allSatisfy({ !$0.isEmpty }), names.count <= maxDepth else {
      return report.error(
        node.location, "expected \(wanted), like data.token: at most \(maxDepth) names, separated by dots")
    }
    return names
  }

  func boolean<Key: ConfigurationKey>(_ key: Key, of fields: Fields<Key>) -> Bool? {
    guard let node = fields[key], let text = text(node, "true or false") else { return nil }
    switch text {
    case "true": return true
    case "false": return false
    default:
      let meant =
        ["yes": "true", "on": "true", "no": "false", "off": "false"][ASCII.lowercased(text)]
        ?? Suggestion.nearest(to: text, in: ["true", "false"])
      return report.error(
        node.location, "\(quoted(text)) is not valid: expected true or false", help: meant.map { "did you mean \($0)?" }
      )
    }
  }

  /// Returns help for a name that is not one of `names`.
  func known(_ names: [String], nearest name: String, _ kind: String) -> String {
    if let nearest = Suggestion.nearest(to: name, in: names) { return "did you mean \"\(nearest)\"?" }
    return "known \(kind): \(names.prefix(20).joined(separator: ", "))"
  }

  /// Returns the text with escapes, as in a message, without quotes.
  func quotedPlain(_ text: String) -> String { String(quoted(text).dropFirst().dropLast()) }

  /// Whether the text is a word like `no` or `disabled`.
  func meansOff(_ text: String) -> Bool {
    ["off", "false", "no", "never", "none", "disabled", "disable", "0"].contains(ASCII.lowercased(text))
  }

  func integer(_ node: YAMLNode, in range: ClosedRange<Int>) -> Int? {
    let wanted = "a whole number from \(range.lowerBound) to \(range.upperBound)"
    return converted(node, wanted) { text in decimal(text).flatMap { range.contains($0) ? $0 : nil } }
  }

  func choice<Value>(_ node: YAMLNode, _ choices: [(word: String, value: Value)]) -> Value? {
    let words = choices.map(\.word)
    guard let text = text(node, listed(words)) else { return nil }
    if let choice = choices.first(where: { $0.word == text }) { return choice.value }
    let help = Suggestion.nearest(to: text, in: words).map { "did you mean \"\($0)\"?" }
    return report.error(node.location, "\(quoted(text)) is not valid: expected \(listed(words))", help: help)
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
    case .scalar(let text, _) where !node.isAbsent && Named.isName(text):
      return report.error(node.location, "expected a list of \(wanted)", help: "write [\(text)]")
    case .scalar, .mapping:
      return report.error(
        node.location, "expected a list of \(wanted)",
        help: "write [one, two], or one line for each that begins with \"- \"")
    }
  }

  /// Reads a list that is not empty.
  func filledList(_ node: YAMLNode, of wanted: String) -> [YAMLNode]? {
    guard let nodes = list(node, of: wanted) else { return nil }
    guard !nodes.isEmpty else { return report.error(node.location, "the list is empty: expected \(wanted)") }
    return nodes
  }

  /// Reads the elements of a list, and reports duplicates.
  func distinct<Value: Hashable>(
    _ nodes: [YAMLNode]?, as name: (Value) -> String = { "\($0)" }, _ read: (YAMLNode) -> Value?
  ) -> [(value: Value, location: TextLocation)] {
    var seen: Set<Value> = []
    return (nodes ?? []).compactMap { node in
      guard let value = read(node) else { return nil }
      if seen.insert(value).inserted { return (value, node.location) }
      return report.error(node.location, "\(name(value)) is listed twice")
    }
  }

  /// Parses a decimal number of at most 18 digits. `nil` for any other text.
  func decimal(_ text: String) -> Int? {
    guard !text.isEmpty, text.utf8.count <= 18, text.utf8.allSatisfy(ASCII.isDigit) else { return nil }
    return Int(text)
  }
}
