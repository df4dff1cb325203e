import Policy
import Primitives
internal import Settings

/// A mapping with only known keys.
struct Fields<Key: ConfigurationKey> {
  /// The location of the mapping's name.
  let location: TextLocation
  fileprivate let entries: [Key: YAMLEntry]
  /// The known keys that misspelled keys in the file probably mean.
  fileprivate let misspelled: Set<Key>

  subscript(key: Key) -> YAMLNode? { entries[key]?.value }

  /// Returns the location of the key, or of the mapping's name if the key is missing.
  func location(of key: Key) -> TextLocation { entries[key]?.key.location ?? location }

  /// Returns the location of the key's value, or of the mapping's name if the key is missing.
  func valueLocation(of key: Key) -> TextLocation { entries[key]?.value.location ?? location }

  func has(_ key: Key) -> Bool { entries[key] != nil }

  /// Whether the key is present with a typing error.
  func isMisspelled(_ key: Key) -> Bool { misspelled.contains(key) }
}

/// A value under a name that the user chose.
struct Named {
  let name: String
  let location: TextLocation
  let value: YAMLNode

  /// Whether the text can be the name of a service, credential, listener or client.
  static func isName(_ text: String) -> Bool {
    guard let first = text.utf8.first, text.utf8.count <= 64 else { return false }
    return ASCII.isLetterOrDigit(first)
      && text.utf8.allSatisfy { ASCII.isLetterOrDigit($0) || $0 == 0x5F || $0 == 0x2D || $0 == 0x2E }
  }
}

extension SectionReader {
  /// Reads a mapping with the keys of `Key`, and returns `nil` for a node that is not a mapping.
  /// - Parameter location: The location of the mapping's name.
  func fields<Key: ConfigurationKey>(_ node: YAMLNode, at location: TextLocation, of: Key.Type = Key.self) -> Fields<
    Key
  >? {
    let all: [YAMLEntry]
    switch node.content {
    case .mapping(let entries): all = entries
    case .refused: return nil
    case .scalar, .sequence:
      let wanted = "\(Key.kind) must be a mapping"
      return report.error(
        node.location, node.isAbsent ? "the value is empty: \(wanted)" : wanted, help: allowedKeys(Key.self))
    }
    var known: [Key: YAMLEntry] = [:]
    var misspelled: Set<Key> = []
    for entry in all where !entry.isRefused {
      if let key = Key(rawValue: entry.name) {
        known[key] = entry
      } else {
        unknownKey(entry, Key.self)
        if let key = meant(by: entry.name, in: Key.self) { misspelled.insert(key) }
      }
    }
    return Fields(location: location, entries: known, misspelled: misspelled)
  }

  /// Reads the mapping under a key.
  func section<Outer: ConfigurationKey, Inner: ConfigurationKey>(
    _ key: Outer, of outer: Fields<Outer>, as: Inner.Type = Inner.self
  ) -> Fields<Inner>? {
    outer[key].flatMap { fields($0, at: outer.location(of: key)) }
  }

  /// Reads the mapping under a key, and shows an example instead of the allowed keys.
  /// - Parameter parts: What the mapping contains, for a message.
  func section<Outer: ConfigurationKey, Inner: ConfigurationKey>(
    _ key: Outer, of outer: Fields<Outer>, having parts: String, help: String
  ) -> Fields<Inner>? {
    guard let node = outer[key] else { return nil }
    if case .mapping = node.content { return section(key, of: outer) }
    return report.error(node.location, "\(Inner.kind) must be a mapping with \(parts)", help: help)
  }

  /// Reports that one of these keys is missing.
  func missing<Key: ConfigurationKey>(_ keys: [Key], in fields: Fields<Key>, _ message: String, help: String) {
    guard !keys.contains(where: fields.isMisspelled) else { return }
    report.error(fields.location, message, help: help)
  }

  /// Returns the value of a key, and reports a missing key.
  @discardableResult
  func required<Key: ConfigurationKey>(
    _ key: Key, of fields: Fields<Key>, _ message: String, help: String
  ) -> YAMLNode? {
    if !fields.has(key) { missing([key], in: fields, message, help: help) }
    return fields[key]
  }

  /// Reports one of two keys without the other.
  /// - Parameter reference: The document that demands both, as in ` (RFC 5849 section 1.1)`.
  func checkTogether<Key: ConfigurationKey>(
    _ one: Key, _ other: Key, in fields: Fields<Key>, _ reference: String = "", help: String? = nil
  ) {
    guard fields.has(one) != fields.has(other) else { return }
    report.error(
      fields.location(of: fields.has(one) ? one : other),
      "\"\(one.rawValue)\" and \"\(other.rawValue)\" must be used together\(reference)", help: help)
  }

  /// Reads a mapping whose keys are names that the user chose.
  /// - Parameter kind: What each name stands for, such as `a service`.
  func named(_ node: YAMLNode, _ kind: String) -> [Named] {
    entries(node, kind).compactMap { entry in
      guard Named.isName(entry.name) else {
        return report.error(
          entry.key.location,
          "a name must begin with a letter or digit, and can have at most 64 letters, digits, \"_\", \"-\" and \".\"")
      }
      return Named(name: entry.name, location: entry.key.location, value: entry.value)
    }
  }

  /// Returns the entries of a mapping from names of any form.
  /// - Parameter kind: what each name maps to, for messages.
  func entries(_ node: YAMLNode, _ kind: String) -> [YAMLEntry] {
    guard case .mapping(let entries) = node.content else {
      if case .refused = node.content { return [] }
      report.error(
        node.location,
        node.isAbsent ? "the value is empty" : "expected a mapping from names to values: for each name, \(kind)",
        help: node.isAbsent ? "delete the line, or add \(kind) below it" : nil)
      return []
    }
    return entries.filter { !$0.isRefused }
  }

  private func allowedKeys<Key: ConfigurationKey>(_: Key.Type) -> String {
    "allowed keys: \(Key.allCases.map(\.rawValue).joined(separator: ", "))"
  }

  /// Returns the key that an unknown key probably means.
  private func meant<Key: ConfigurationKey>(by name: String, in: Key.Type) -> Key? {
    let nearest = Suggestion.nearest(to: name, in: Key.allCases.map(\.rawValue))
    return nearest.flatMap(Key.init) ?? SchemaWords.synonyms(for: name).lazy.compactMap(Key.init).first
  }

  private func unknownKey<Key: ConfigurationKey>(_ entry: YAMLEntry, _: Key.Type) {
    let location = entry.key.location
    guard !report.isFull else { return report.error(location, "unknown key") }
    let mayBeSecret = Key.self == SourceKey.self || Key.self == BasicKey.self || !SchemaWords.isPresentable(entry)
    let shown = mayBeSecret ? "unknown key" : "unknown key \(quoted(entry.name))"
    let message = "\(shown) in \(Key.kind)"
    if entry.value.isAbsent, entry.name.contains(":") {
      report.error(location, message, help: "add a space after the colon")
    } else if let key = meant(by: entry.name, in: Key.self) {
      report.error(location, message, help: "did you mean \"\(key.rawValue)\"?")
    } else if Key.self == BasicKey.self || Key.self == SourceKey.self, CredentialKey(rawValue: entry.name) != nil {
      report.error(location, message, help: "\"\(entry.name)\" is a key of \(CredentialKey.kind)")
    } else if let key = SourceKey(rawValue: entry.name), [.file, .systemd, .env, .command].contains(key) {
      report.error(
        location, message,
        help: "\"\(entry.name)\" belongs in the source of a secret, for example value: { file: NAME }")
    } else if let home = SchemaWords.kinds(with: entry.name).first {
      report.error(location, message, help: "\"\(entry.name)\" is a key of \(home)")
    } else if let word = SchemaWords.synonyms(for: entry.name).first, let home = SchemaWords.kinds(with: word).first {
      report.error(location, message, help: "did you mean \"\(word)\"? It is a key of \(home)")
    } else {
      report.error(location, message, help: allowedKeys(Key.self))
    }
  }
}
