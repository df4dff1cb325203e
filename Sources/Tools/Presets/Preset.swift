/// A provider: its URL, the way to send its key, and the variables of its programs. One row of `config/presets.toml`.
///
/// Some texts may contain placeholders: `{NAME}` stands for the answer to the question with this name.
package struct Preset: Sendable {
  /// A question that the user must answer before the service can be written.
  package struct Question: Sendable {
    package enum Pattern: String, Sendable {
      /// Letters, digits and `-`.
      case hostLabel = "host-label"
      case host
      /// `https://host` or `https://host:port`.
      case origin
      case email
      /// A user name for Basic authentication: no colon, no control characters.
      case user
      case header
      /// Letters, digits, `_`, `.` and `-`.
      case word
    }
    package let name: String
    package let prompt: String
    package let example: String
    package let pattern: Pattern
  }

  /// How the key is sent.
  package enum Scheme: Sendable {
    case bearer
    /// Basic authentication with the key as the password. `user` may contain placeholders.
    case basic(user: String)
    /// A header field with `prefix` and the key as its value. `name` and `prefix` may contain placeholders.
    case header(name: String, prefix: String)
    case query(name: String)
    case registry(realm: String, user: String)
  }

  /// An environment variable of the provider's programs.
  package struct Variable: Sendable {
    package let name: String
    /// May contain placeholders for answers, and also `{url}` (the service's local URL without a final slash), `{host}`
    /// (host and port of this URL) and `{origin_host}`.
    package let value: String
    /// Whether programs expect their key in this variable. The value is then a dummy key that the programs accept.
    package let isKey: Bool
  }

  package struct Rule: Sendable {
    package let match: String
    /// The methods that the rule matches. Empty for all methods.
    package let methods: [String]
    package let isDenied: Bool
    /// The rule's description. May be empty.
    package let reason: String
  }

  /// A request that tests a key: free of charge, without side effects, and successful only with a valid key.
  package struct Trial: Sendable {
    package let method: String
    /// The path and query at the provider. May contain placeholders.
    package let path: String
    package let headers: [(name: String, value: String)]
    /// The status with which the provider rejects a key.
    package let rejected: Int
  }

  package let name: String
  package let title: String
  /// The origin of the provider's API. May contain placeholders.
  package let origin: String
  package let questions: [Question]
  package let scheme: Scheme
  /// The provider's term for the key, such as "API key".
  package let key: String
  /// The prefixes of valid keys. Empty if any key is possible.
  package let keyPrefixes: [String]
  /// The URL of the page where users create a key.
  package let create: String
  /// Advice on the permissions of the key.
  package let scope: String
  package let variables: [Variable]
  /// Further advice for the user. May be empty.
  package let notes: String
  /// The rules of the service. Empty if every request is allowed.
  package let rules: [Rule]
  /// The rules for `--read-only`. Empty if the preset does not support this option.
  package let readOnlyRules: [Rule]
  /// Whether bearerd waits for a response head without a time limit.
  package let hasNoTimeLimit: Bool
  package let trial: Trial?
  /// Whether bearerd responds with 502 if the upstream rejects the key. After the upstream's own response, programs
  /// would ask the user for a password.
  package let hidesRejection: Bool
  /// The value of the service's key `at`, such as `localhost:5000`. `nil` for the default path.
  package let at: String?
}

extension Preset {
  package static func named(_ name: String) -> Preset? { all.first { $0.name == name } }

  /// Returns the text with answers instead of placeholders. Placeholders without an answer remain.
  package static func filled(_ text: String, _ answers: [String: String]) -> String {
    var filled = ""
    var rest = text[...]
    while let open = rest.firstIndex(of: "{"), let close = rest[open...].firstIndex(of: "}") {
      filled += rest[..<open]
      let name = String(rest[rest.index(after: open)..<close])
      filled += answers[name] ?? "{\(name)}"
      rest = rest[rest.index(after: close)...]
    }
    return filled + rest
  }
}
