import Policy
import Primitives

/// A mapping whose keys are all known: what is left for a reader is to read the values.
struct Fields<Key: ConfigurationKey> {
  /// The place of the name above it, for what is missing.
  let place: TextLocation
  private let entries: [Key: YAMLEntry]
  /// The keys that unknown ones are taken for.
  private let misspelt: Set<Key>

  init(place: TextLocation, entries: [Key: YAMLEntry], misspelt: Set<Key>) {
    self.place = place
    self.entries = entries
    self.misspelt = misspelt
  }

  subscript(key: Key) -> YAMLNode? { entries[key]?.value }

  /// The place of the key itself; the one where the mapping is named if it is not there.
  func place(of key: Key) -> TextLocation { entries[key]?.key.place ?? place }

  func has(_ key: Key) -> Bool { entries[key] != nil }

  /// Whether what is missing stands there under a misspelt key, which is reported.
  func isMisspelt(_ key: Key) -> Bool { misspelt.contains(key) }
}

/// A value under a name that the user chose.
struct Named {
  let name: String
  let place: TextLocation
  let value: YAMLNode
}

extension SettingsReader {
  /// A mapping with the keys of `Key`; unknown keys are reported and passed over. nil: not a mapping, reported.
  /// `place` is where the mapping is named.
  func fields<Key: ConfigurationKey>(_ node: YAMLNode, at place: TextLocation, of: Key.Type = Key.self) -> Fields<
    Key
  >? {
    guard let all = mapping(node, "\(Key.kind) must be a mapping", of: Key.self) else { return nil }
    var known: [Key: YAMLEntry] = [:]
    var misspelt: Set<Key> = []
    for entry in all where !entry.isRefused {
      if let key = Key(rawValue: entry.name) {
        known[key] = entry
      } else {
        unknownKey(entry, Key.self)
        if let key = meant(by: entry.name, in: Key.self) { misspelt.insert(key) }
      }
    }
    return Fields(place: place, entries: known, misspelt: misspelt)
  }

  /// Reports that one of these keys is needed, unless a misspelt one is reported already.
  func missing<Key: ConfigurationKey>(_ keys: Key..., in fields: Fields<Key>, _ message: String, help: String) {
    guard !keys.contains(where: fields.isMisspelt) else { return }
    report.error(fields.place, message, help: help)
  }

  /// A mapping from names of the user's own. Refused names are reported and passed over.
  func named(_ node: YAMLNode, _ kind: String) -> [Named] {
    guard case .mapping(let entries) = node.content else {
      if case .refused = node.content { return [] }
      report.error(
        node.place,
        node.isAbsent ? "the value is empty" : "expected a mapping from names to values: for each name, \(kind)",
        help: node.isAbsent ? "delete the line, or add \(kind) below it" : nil)
      return []
    }
    return entries.filter { !$0.isRefused }.compactMap { entry in
      guard Self.isName(entry.name) else {
        report.error(
          entry.key.place,
          "a name must begin with a letter or digit, and can have at most 64 letters, digits, \"_\", \"-\" and \".\"")
        return nil
      }
      return Named(name: entry.name, place: entry.key.place, value: entry.value)
    }
  }

  /// Names stand in paths, in logs and in `Proxy-Status`.
  static func isName(_ text: String) -> Bool {
    guard let first = text.utf8.first, text.utf8.count <= 64 else { return false }
    return ASCII.isLetterOrDigit(first)
      && text.utf8.allSatisfy { ASCII.isLetterOrDigit($0) || $0 == 0x5F || $0 == 0x2D || $0 == 0x2E }
  }

  private func mapping<Key: ConfigurationKey>(_ node: YAMLNode, _ wanted: String, of: Key.Type) -> [YAMLEntry]? {
    switch node.content {
    case .mapping(let entries): return entries
    case .refused: return nil
    case .scalar, .sequence:
      let keys = Key.allCases.map(\.rawValue).joined(separator: ", ")
      report.error(node.place, node.isAbsent ? "the value is empty: \(wanted)" : wanted, help: "allowed keys: \(keys)")
      return nil
    }
  }

  /// By a slip, or by the word that other programs have for it.
  private func meant<Key: ConfigurationKey>(by name: String, in: Key.Type) -> Key? {
    let nearest = Suggestion.nearest(to: name, in: Key.allCases.map(\.rawValue))
    return nearest.flatMap(Key.init) ?? SchemaWords.ofOthers(name).lazy.compactMap(Key.init).first
  }

  private func unknownKey<Key: ConfigurationKey>(_ entry: YAMLEntry, _: Key.Type) {
    let keys = Key.allCases.map(\.rawValue)
    let place = entry.key.place
    guard !report.isFull else { return report.error(place, "unknown key") }
    let mayBeSecret = Key.self == SourceKey.self || Key.self == BasicKey.self || !SchemaWords.isPresentable(entry)
    let shown = mayBeSecret ? "unknown key" : "unknown key \(quoted(entry.name))"
    let message = "\(shown) in \(Key.kind)"
    if entry.value.isAbsent, entry.name.contains(":") {
      report.error(place, message, help: "add a space after the colon")
    } else if let key = meant(by: entry.name, in: Key.self) {
      report.error(place, message, help: "did you mean \"\(key.rawValue)\"?")
    } else if Key.self == BasicKey.self || Key.self == SourceKey.self, CredentialKey(rawValue: entry.name) != nil {
      report.error(place, message, help: "\"\(entry.name)\" is a key of \(CredentialKey.kind)")
    } else if let key = SourceKey(rawValue: entry.name), [.file, .systemd, .env, .command].contains(key) {
      report.error(
        place, message, help: "\"\(entry.name)\" belongs in the source of a secret, for example value: { file: NAME }")
    } else if let home = SchemaWords.kinds(with: entry.name).first {
      report.error(place, message, help: "\"\(entry.name)\" is a key of \(home)")
    } else if let word = SchemaWords.ofOthers(entry.name).first, let home = SchemaWords.kinds(with: word).first {
      report.error(place, message, help: "did you mean \"\(word)\"? It is a key of \(home)")
    } else {
      report.error(place, message, help: "allowed keys: \(keys.joined(separator: ", "))")
    }
  }
}
