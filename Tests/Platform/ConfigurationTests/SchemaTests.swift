@testable import Configuration
import Foundation
import Testing

/// Compares the JSON schema, generated from `config/keys.toml`, with the configuration reader.
@Suite struct SchemaTests {
  private static func schema() throws -> [String: Any] {
    let data = try Data(contentsOf: ExamplesTests.config.appending(path: "bearerd.schema.json"))
    return try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
  }

  /// A file for each section, and for keys that have no effect in that file. `@` marks the position of the keys.
  private static let files = [
    "top": "{ services: { s: { upstream: 'https://s.test/' } }, @ }",
    "limits": "{ limits: { @ }, services: { s: { upstream: 'https://s.test/' } } }",
    "timeouts": "{ timeouts: { @ }, services: { s: { upstream: 'https://s.test/' } } }",
    "audit": "{ audit: { file: /var/log/b/audit.log, @ }, services: { s: { upstream: 'https://s.test/' } } }",
    "listener":
      "{ listeners: { main: { address: 'unix:/run/b.sock', @ } }, services: { s: { upstream: 'https://s.test/' } } }",
    "service": "{ services: { s: { upstream: 'https://s.test/', @ } } }",
    "rule": "{ services: { s: { upstream: 'https://s.test/', rules: [{ match: /a, deny: true, @ }] } } }",
    "credential": credential("bearer: { file: s }, @"),
    "suspend": credential("bearer: { file: s }, suspend: { @ }"),
    "keepalive": "{ limits: { tcp_keepalive: { @ } }, \(service) }",
    "source": credential("bearer: { command: [/usr/bin/git], @ }"),
    "oauth1": credential("oauth1: { consumer_key: k, consumer_secret: { file: s }, @ }"),
    "oauth2": credential(
      "oauth2: { token_url: 'https://t.test/', grant: client_credentials, client_id: i, client_secret: { file: s }, @ }"
    ),
    "login": credential("login: { url: 'https://c.test/l', json: { p: { file: s } }, token: t, @ }"),
    "digest": credential("digest: { user: u, password: { file: s }, @ }"),
    "registry": credential("registry: { realm: 'https://c.test/t', @ }"),
    "credential.replay_buffer": credential("bearer: { file: s }, mode: challenge, @"),
    "source.store": credential("basic: { password: { command: [/usr/bin/git], format: git-credential, @ } }"),
    "service.pin_mode": "{ services: { s: { upstream: 'https://s.test/', \(pins), @ } } }",
    "oauth2.pin_mode": credential(
      "oauth2: { token_url: 'https://t.test/', grant: client_credentials, client_id: i, client_secret: { file: s }, \(pins), @ }"
    ),
    "login.pin_mode": credential("login: { url: 'https://c.test/l', json: { p: { file: s } }, token: t, \(pins), @ }"),
    "registry.pin_mode": credential("registry: { realm: 'https://c.test/t', \(pins), @ }"),
    "oauth2.login_timeout": browser, "oauth2.redirect_uri": browser,
  ]

  /// Files for examples of keys that conflict with a key in `files`, or that need another key.
  private static let exampleFiles = [
    "top.metrics": "{ @, \(service) }", "top.control": "{ @, \(service) }",
    "audit.file": "{ audit: { @ }, \(service) }",
    "listener": "{ listeners: { main: { address: 'localhost:7070', @ } }, \(service) }",
    "listener.address": "{ listeners: { main: { @ } }, \(service) }",
    "listener.mode": "{ listeners: { main: { address: 'unix:/run/b.sock', @ } }, \(service) }",
    "browsers": "{ listeners: { main: { address: 'localhost:7070', browsers: { @ } } }, \(service) }",
    "credential.origins": "{ credentials: { c: { @, bearer: { file: s } } }, \(service) }",
    "credential.headers": credential("@"),
    "source.file": credential("bearer: { @ }"), "source.systemd": credential("bearer: { @ }"),
    "source.env": credential("bearer: { @ }"), "source.command": credential("bearer: { @ }"),
    "source.url": gitHelper, "source.username": gitHelper,
    "source.server": credential(
      "basic: { password: { command: [/usr/bin/git], format: docker-credential, @ } }"),
    "basic.password": credential("basic: { user: u, @ }"),
    "header.name": credential("headers: [{ @, value: { file: s } }]"),
    "header.prefix": credential("headers: [{ name: X-Key, value: { file: s }, @ }]"),
    "oauth2.token_url": credential(
      "oauth2: { @, grant: client_credentials, client_id: i, client_secret: { file: s } }"),
    "oauth2.subject_token_type": exchange("@"),
    "oauth2.requested_token_type": exchange("subject_token_type: 'urn:t', @"),
    "oauth2.device_authorization_url": credential(
      "oauth2: { token_url: 'https://t.test/', grant: device_code, client_id: i, @ }"),
    "oauth2.authorization_url": credential(
      "oauth2: { token_url: 'https://t.test/', grant: authorization_code, client_id: i, @ }"),
    "login.url": credential("login: { @, json: { p: { file: s } }, token: t }"),
    "login.form": credential("login: { url: 'https://c.test/l', @, token: t }"),
    "login.json": credential("login: { url: 'https://c.test/l', @, token: t }"),
    "login.token": credential("login: { url: 'https://c.test/l', json: { p: { file: s } }, @ }"),
    "login.cookie": credential("login: { url: 'https://c.test/l', json: { p: { file: s } }, @ }"),
    "refreshOn.status": expired("@"), "refreshOn.field": expired("status: 403, value: v, @"),
    "refreshOn.value": expired("status: 403, field: f, @"),
    "registry.realm": credential("registry: { @ }"),
    "query.name": credential("query: { @, value: { file: s } }"),
    "clientCertificate.certificate": credential("client_certificate: { @, private_key: { file: s } }"),
    "service.upstream": "{ services: { s: { @ } } }",
    "service.pins_expire": "{ services: { s: { upstream: 'https://s.test/', \(pins), @ } } }",
    "rule.match": "{ services: { s: { upstream: 'https://s.test/', rules: [{ @ }] } } }",
    "rule.rate": "{ services: { s: { upstream: 'https://s.test/', rules: [{ match: /a, @ }] } } }",
  ]

  private static let service = "services: { s: { upstream: 'https://s.test/' } }"

  private static let gitHelper = credential(
    "basic: { password: { command: [/usr/bin/git], format: git-credential, @ } }")

  private static func exchange(_ keys: String) -> String {
    credential(
      "oauth2: { token_url: 'https://t.test/', grant: token_exchange, client_id: i, client_secret: { file: s }, subject_token: { file: s }, \(keys) }"
    )
  }

  private static func expired(_ keys: String) -> String {
    credential(
      "login: { url: 'https://c.test/l', json: { p: { file: s } }, token: t, refresh_on: [{ \(keys) }] }")
  }

  private static let pins = "pins: [sha256/BuP9j9opu2CrWVV95h7bCuzbIxE0vjDnW0Vfjht5L6k=], backup_pin: none"

  private static let browser = credential(
    "oauth2: { token_url: 'https://t.test/', grant: authorization_code, client_id: i, authorization_url: 'https://t.test/a', @ }"
  )

  private static func credential(_ scheme: String) -> String {
    "{ credentials: { c: { origins: ['https://c.test'], \(scheme) } }, services: { s: { upstream: 'https://c.test/', credential: c } } }"
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
      let file = try #require(Self.files["\(section).\(key)"] ?? Self.files[section], "\(section)")
      var machine = Machine()
      machine.files["/usr/bin/git"] = (0, 0o755, true)
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
      let files = Self.exampleFiles
      let file = try #require(
        files["\(section).\(key)"] ?? files[section] ?? Self.files["\(section).\(key)"] ?? Self.files[section],
        "\(section)")
      var machine = Machine()
      for program in ["git", "pass"] { machine.files["/usr/bin/\(program)"] = (0, 0o755, true) }
      machine.contents["/etc/bearerd/robot.pem"] = machine.contents["/etc/bearerd/ca.pem"]
      if case .failure(let errors) = machine.read(file.replacing("@", with: "\(key): \(value)")) {
        Issue.record("\(section).\(key): \(value): \(errors)")
      }
    }
  }

  /// Keys that no shipped file shows, by section.
  private static let notShown = [
    "audit": "required",
    "credential": "allow_clients allow_groups replay_buffer",
    "digest": "replay_buffer",
    "header": "prefix",
    "limits": "connections_per_user requests_per_user",
    "login": """
    allow_addresses backup_pin ca_file expires_in header pin_mode pins pins_expire refresh_on \
    renew_ahead replay_buffer skew timeout
    """,
    "loginHeader": "name prefix",
    "oauth1": "realm signature",
    "oauth2": """
    actor_token actor_token_type allow_addresses assertion_audience audience backup_pin ca_file claims \
    client_auth key_id login_timeout parameters password pin_mode pins_expire private_key redirect_uri \
    refresh_on renew_ahead replay_buffer requested_token_type resource skew subject subject_token \
    subject_token_type timeout user
    """,
    "refreshOn": "field status value",
    "registry": "allow_addresses backup_pin ca_file pin_mode pins pins_expire replay_buffer timeout",
    "rule": "allow_client_headers case on_client_header rate remove_parameters set_headers",
    "service": "allow_clients allow_groups backup_pin",
    "source": "env server store url username",
  ]

  @Test func `the shipped files show every key except the listed keys`() throws {
    let schema = try Self.schema()
    let kinds = try #require(schema["$defs"] as? [String: [String: Any]])
    let files =
      try ExamplesTests.examples.map { try ExamplesTests.text("examples/" + $0) } + [ExamplesTests.uncommented()]
    let shown = try files.reduce(into: Set<String>()) { shown, file in
      Self.add(try #require(ConfigurationTree(reading: Array(file.utf8))), schema, of: "top", kinds, to: &shown)
    }
    var keys: Set<String> = []
    for (section, kind) in kinds.merging(["top": schema], uniquingKeysWith: { $1 }) {
      for key in (kind["properties"] as? [String: Any] ?? [:]).keys { keys.insert("\(section).\(key)") }
    }
    #expect(shown.subtracting(keys) == [])
    let listed = Self.notShown.flatMap { section, keys in keys.split(separator: " ").map { "\(section).\($0)" } }
    #expect(keys.subtracting(shown).sorted() == listed.sorted())
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
