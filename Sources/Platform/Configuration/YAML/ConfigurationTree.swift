/// A configuration as a tree without places: to write another one of the same shape.
package enum ConfigurationTree: Sendable, Equatable {
  /// `isPlain`: not in quotes. Only an empty plain scalar means something else than a quoted one: nothing.
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

  /// nil: not YAML that a configuration may be made of. `ConfigurationReader` says why.
  package init?(reading text: [UInt8]) {
    let text = withoutMark(text)
    let report = Report(file: "", text: text)
    guard let root = YAMLDocument.read(text, report: report), report.errorCount == 0 else { return nil }
    self.init(root)
  }

  init(_ node: YAMLNode) {
    switch node.content {
    case .scalar(let text, let isPlain): self = .scalar(text, isPlain: isPlain)
    case .sequence(let nodes): self = .sequence(nodes.map(Self.init))
    case .mapping(let entries): self = .mapping(entries.map { Entry($0.name, Self($0.value)) })
    // Not in a file without errors.
    case .refused: self = .scalar("", isPlain: true)
    }
  }

  package var isMapping: Bool {
    if case .mapping = self { true } else { false }
  }

  /// The value of a key. Setting nil takes the key out; setting a new one adds it at the end. Of what is no mapping: nil.
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

  /// Each value of a mapping, with its key; what is no mapping stays.
  package func mapValues(_ change: (String, ConfigurationTree) -> ConfigurationTree) -> ConfigurationTree {
    guard case .mapping(let entries) = self else { return self }
    return .mapping(entries.map { Entry($0.key, change($0.key, $0.value)) })
  }

  /// Each element of a sequence, or the one value itself.
  package func mapElements(_ change: (ConfigurationTree) -> ConfigurationTree) -> ConfigurationTree {
    guard case .sequence(let elements) = self else { return change(self) }
    return .sequence(elements.map(change))
  }
}
