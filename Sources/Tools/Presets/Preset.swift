/// A provider that programs talk to: where it is, how its key is sent, and which variables its programs read. One row of
/// `config/presets.toml`.
///
/// In the texts that say so, `{NAME}` stands for the answer to the question of that name.
package struct Preset: Sendable {
  /// What a person has to say before the service can be written.
  package struct Question: Sendable {
    package enum Pattern: String, Sendable {
      /// Letters, digits and `-`.
      case hostLabel = "host-label"
      case host
      /// `https://host` or `https://host:port`.
      case origin
      case email
      /// The user of Basic: no colon, no control characters.
      case user
      /// The name of a header.
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
    /// `user` may hold answers.
    case basic(user: String)
    /// Both may hold answers.
    case header(name: String, prefix: String)
    case query(name: String)
    case registry(realm: String, user: String)
  }

  /// An environment variable of the provider's programs.
  package struct Variable: Sendable {
    package let name: String
    /// May hold answers, `{url}` (the service here, without a slash at its end), `{host}` (host and port of that) and `{origin_host}`.
    package let value: String
    /// Usually holds the key. Here it is a placeholder that the programs accept.
    package let isKey: Bool
  }

  /// As in the configuration.
  package struct Rule: Sendable {
    package let match: String
    /// Empty: any.
    package let methods: [String]
    package let isDenied: Bool
    /// Why; empty: the rule says nothing.
    package let reason: String
  }

  /// A request that costs nothing, changes nothing, and succeeds only with a good key.
  package struct Trial: Sendable {
    package let method: String
    /// The path of the provider, with its query. May hold answers.
    package let path: String
    package let headers: [(name: String, value: String)]
    /// The status with which the provider rejects a key.
    package let rejected: Int
  }

  package let name: String
  package let title: String
  /// May hold answers.
  package let origin: String
  package let questions: [Question]
  package let scheme: Scheme
  /// What the provider calls the key.
  package let key: String
  /// The beginnings that genuine keys have; empty: any.
  package let keyPrefixes: [String]
  /// The page where a key is made.
  package let create: String
  /// Which rights the key should have.
  package let scope: String
  package let variables: [Variable]
  /// What else a person should know; empty: nothing.
  package let notes: String
  /// Empty: everything passes.
  package let rules: [Rule]
  /// The rules of `--read-only`; empty: there is no such choice.
  package let readOnlyRules: [Rule]
  /// Whether the head of a response may take any time to come.
  package let hasNoTimeLimit: Bool
  package let trial: Trial?
  /// Whether a rejected key becomes a 502, so that programs do not ask a person for a password.
  package let hidesRejection: Bool
  /// The place of the service, if it cannot be below a path.
  package let at: String?
}

extension Preset {
  package static func named(_ name: String) -> Preset? { all.first { $0.name == name } }

  /// Returns a text with the answers in their places.
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
