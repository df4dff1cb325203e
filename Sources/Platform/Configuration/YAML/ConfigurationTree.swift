/// A configuration as a tree without locations.
package enum ConfigurationTree: Sendable, Equatable {
  /// Text or another single value. `isPlain` if it has no quotes. An empty plain scalar is a missing value.
  case scalar(String, isPlain: Bool)
  case sequence([ConfigurationTree])
  case mapping([Entry])

  package struct Entry: Sendable, Equatable {
    package var key: String
    package var value: ConfigurationTree
    package init(_ key: String, _ value: ConfigurationTree) {
      self.key = key
      self.value = value
    }
  }

  package static func text(_ text: String) -> Self { .scalar(text, isPlain: false) }

  /// Parses a configuration's text. `nil` if the text is invalid.
  package init?(reading text: [UInt8]) {
    let report = Report(file: "", text: text)
    guard let root = YAMLDocument.read(text, report: report), report.errorCount == 0 else { return nil }
    self.init(root)
  }

  init(_ node: YAMLNode) {
    switch node.content {
    case .scalar(let text, let isPlain): self = .scalar(text, isPlain: isPlain)
    case .sequence(let nodes): self = .sequence(nodes.map(Self.init))
    case .mapping(let entries): self = .mapping(entries.map { Entry($0.name, Self($0.value)) })
    // A file without errors has no such node.
    case .refused: self = .scalar("", isPlain: true)
    }
  }

  package var isMapping: Bool {
    if case .mapping = self { true } else { false }
  }

  /// The value of a key, or `nil` if it is missing. Setting `nil` removes the key.
  package subscript(_ key: String) -> ConfigurationTree? {
    get {
      guard case .mapping(let entries) = self else { return nil }
      return entries.first { $0.key == key }?.value
    }
    set {
      guard case .mapping(var entries) = self else { return }
      let index = entries.firstIndex { $0.key == key }
      switch (index, newValue) {
      case (let index?, let value?): entries[index].value = value
      case (let index?, nil): entries.remove(at: index)
      case (nil, let value?): entries.append(Entry(key, value))
      case (nil, nil): return
      }
      self = .mapping(entries)
    }
  }

  /// Returns the mapping with changed values. A node that is not a mapping remains unchanged.
  package func mapValues(_ change: (String, ConfigurationTree) -> ConfigurationTree) -> ConfigurationTree {
    guard case .mapping(let entries) = self else { return self }
    return .mapping(entries.map { Entry($0.key, change($0.key, $0.value)) })
  }

  /// Returns the sequence with changed elements. A node that is not a sequence is changed itself.
  package func mapElements(_ change: (ConfigurationTree) -> ConfigurationTree) -> ConfigurationTree {
    guard case .sequence(let elements) = self else { return change(self) }
    return .sequence(elements.map(change))
  }

  /// The configuration as YAML.
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
