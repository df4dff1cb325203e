@testable import Configuration
import Foundation
import Testing

/// Compares the JSON schema, generated from `config/keys.toml`, with the configuration reader.
@Suite struct SchemaTests {
  private static func schema() throws -> [String: Any] {
    let data = try Data(contentsOf: ExamplesTests.config.appending(path: "bearerd.schema.json"))
    return try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
  }

  /// The keys of all sections that have a value in this column of the schema, as YAML.
  private static func values(
    _ column: String, of pick: (Any) -> Any = { $0 }
  ) throws -> [(section: String, key: String, value: String)] {
    let schema = try schema()
    var kinds = try #require(schema["$defs"] as? [String: [String: Any]])
    kinds["top"] = schema
    return kinds.flatMap { section, kind in
      (kind["properties"] as? [String: [String: Any]] ?? [:]).compactMap { key, property in
        guard let found = property[column] else { return nil }
        let text = try? JSONSerialization.data(
          withJSONObject: pick(found), options: [.fragmentsAllowed, .withoutEscapingSlashes])
        return (section, key, String(decoding: text ?? Data(), as: UTF8.self))
      }
    }
  }

  @Test func `setting a key to its default value changes nothing`() throws {
    let defaults = try Self.values("default")
    #expect(defaults.count > 50)
    for (section, key, value) in defaults {
      let file = try #require(KeySurroundings.file(section, key), "\(section).\(key)")
      let machine = KeySurroundings.machine
      let settings = ["", "\(key): \(value)"].map { keys in
        switch machine.read(file.replacing("@", with: keys)) {
        // The elements of a set have no fixed order.
        case .success(let read): "\(read.0)".split { " ,()[]".contains($0) }.sorted().joined(separator: " ")
        case .failure(let errors): "\(keys): \(errors)"
        }
      }
      #expect(settings[0] == settings[1], "\(section).\(key)")
    }
  }

  @Test func `the example value of every key is valid`() throws {
    let examples = try Self.values("examples") { ($0 as? [Any])?.first ?? $0 }
    #expect(examples.count > 50)
    for (section, key, value) in examples {
      let file = try #require(KeySurroundings.file(section, key), "\(section).\(key)")
      if case .failure(let errors) = KeySurroundings.machine.read(file.replacing("@", with: "\(key): \(value)")) {
        Issue.record("\(section).\(key): \(value): \(errors)")
      }
    }
  }

  /// Keys without a default that no shipped file shows, by section.
  private static let notShown = [
    "clientCertificate": "passphrase",
    "credential": "allow_clients allow_groups realm",
    "digest": "realm",
    "header": "prefix",
    "limits": "connections_per_user requests_per_user",
    "login": "allow_addresses backup_pin ca_file expires_in header headers pins pins_expire refresh_on revocation",
    "loginHeader": "name prefix",
    "oauth1": """
    access_token_url allow_addresses authorize_url backup_pin ca_file passphrase pins pins_expire private_key realm \
    request_token_url revocation store
    """,
    "oauth2": """
    actor_token actor_token_type allow_addresses assertion_audience audience backup_pin ca_file claims \
    client_auth expires_at expires_in grant_type headers key_id parameters passphrase password pins_expire private_key \
    refresh_on requested_token_type resource revocation subject subject_token \
    subject_token_type token user
    """,
    "pinPolicy": "backup_pin expires pins",
    "refreshOn": "field status value",
    "registry": "allow_addresses backup_pin ca_file pins pins_expire revocation",
    "reports": "allow_addresses ca_file",
    "revocation": "stapling",
    "rule": "allow_client_headers message on_client_header rate remove_parameters set_headers",
    "service": "allow_clients allow_groups backup_pin",
    "source": "env environment server token_of url username", "environment": "pass",
    "top": "pin_policies",
  ]

  @Test func `the shipped files show every key without a default, except the listed keys`() throws {
    let schema = try Self.schema()
    let kinds = try #require(schema["$defs"] as? [String: [String: Any]])
    let files =
      try ExamplesTests.examples.map { try ExamplesTests.text("examples/" + $0) } + [ExamplesTests.uncommented()]
    let shown = try files.reduce(into: Set<String>()) { shown, file in
      Self.add(try #require(ConfigurationTree(reading: Array(file.utf8))), schema, of: "top", kinds, to: &shown)
    }
    var withDefault: [String: Bool] = [:]
    for (section, kind) in kinds.merging(["top": schema], uniquingKeysWith: { $1 }) {
      for (key, property) in kind["properties"] as? [String: [String: Any]] ?? [:] {
        withDefault["\(section).\(key)"] = property["default"] != nil
      }
    }
    #expect(shown.subtracting(withDefault.keys) == [])
    let listed = Self.notShown.flatMap { section, keys in keys.split(separator: " ").map { "\(section).\($0)" } }
    let missing = withDefault.filter { !$0.value && !shown.contains($0.key) }.keys
    #expect(missing.sorted() == listed.sorted())
  }

  /// Adds the keys of a file as `section.key`, following the schema.
  private static func add(
    _ node: ConfigurationTree, _ type: [String: Any], of section: String, _ kinds: [String: [String: Any]],
    to shown: inout Set<String>
  ) {
    if let name = (type["$ref"] as? String)?.split(separator: "/").last.map(String.init), let kind = kinds[name] {
      return add(node, kind, of: name, kinds, to: &shown)
    }
    for choice in type["anyOf"] as? [[String: Any]] ?? [] { add(node, choice, of: section, kinds, to: &shown) }
    switch node {
    case .mapping(let entries):
      let properties = type["properties"] as? [String: [String: Any]]
      for entry in entries {
        if properties != nil { shown.insert("\(section).\(entry.key)") }
        let value = properties?[entry.key] ?? type["additionalProperties"] as? [String: Any]
        if let value { add(entry.value, value, of: section, kinds, to: &shown) }
      }
    case .sequence(let nodes):
      guard let items = type["items"] as? [String: Any] else { return }
      for node in nodes { add(node, items, of: section, kinds, to: &shown) }
    case .scalar: break
    }
  }
}
