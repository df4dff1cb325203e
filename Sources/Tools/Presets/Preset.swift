internal import Policy
import Primitives

/// A provider: its URL, how to send its key, and the variables of its programs. In some texts, `{NAME}` stands for the
/// answer to the question with this name.
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
      /// A user name for Basic authentication.
      case user
      case header
      /// Letters, digits, `_`, `.` and `-`.
      case word
    }
    package let name: String
    package let prompt: String
    package let example: String
    package let pattern: Pattern

    package func accepts(_ answer: String) -> Bool {
      guard !answer.isEmpty, answer.utf8.count <= 253 else { return false }
      let bytes = answer.utf8
      switch pattern {
      case .hostLabel: return bytes.allSatisfy { ASCII.isLetterOrDigit($0) || $0 == 0x2D }
      case .word: return bytes.allSatisfy { ASCII.isLetterOrDigit($0) || "_.-".utf8.contains($0) }
      case .header: return bytes.allSatisfy { ASCII.isLetterOrDigit($0) || "!#$%&'*+.^_`|~-".utf8.contains($0) }
      case .host: return (try? HostName(parsing: answer)) != nil
      case .origin: return answer.hasPrefix("https://") && (try? Origin(parsing: answer)) != nil
      case .email:
        return answer.contains("@") && bytes.allSatisfy { $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: ":") }
      case .user: return bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: ":") }
      }
    }

    /// The expected answer, as the end of a sentence.
    package var expectation: String {
      switch pattern {
      case .hostLabel: "letters, digits and \"-\", such as \(example)"
      case .word: "letters, digits, \"_\", \".\" and \"-\", such as \(example)"
      case .header: "the name of a header field, such as \(example)"
      case .host: "a host name, such as \(example)"
      case .origin: "an https URL without a path, such as \(example)"
      case .email: "an e-mail address, such as \(example)"
      case .user: "a name without a colon, such as \(example)"
      }
    }
  }

  package enum Scheme: Sendable {
    case bearer
    /// Basic authentication with the key as the password.
    case basic(user: String)
    /// A header field with `prefix` and the key as its value.
    case header(name: String, prefix: String)
    case query(name: String)
    case registry(realm: String, user: String)
  }

  package struct Variable: Sendable {
    package let name: String
    /// The value. May contain `{NAME}` for answers, `{url}` (the service's local URL), `{host}` (its host and port) and
    /// `{origin_host}`.
    package let value: String
    /// Whether programs expect their key in this variable. The value is then a dummy key.
    package let isKey: Bool
  }

  package struct Rule: Sendable {
    package let match: String
    /// The methods that the rule matches. Empty for all methods.
    package let methods: [String]
    package let isDenied: Bool
    package let reason: String
  }

  /// A request that tests a key. Has no side effects.
  package struct Trial: Sendable {
    package let method: String
    /// The path and query at the provider.
    package let path: String
    package let headers: [(name: String, value: String)]
    /// The status with which the provider rejects a key.
    package let rejected: Int
  }

  package let name: String
  package let title: String
  package let origin: String
  package internal(set) var questions: [Question] = []
  package let scheme: Scheme
  /// The provider's term for the key, such as "API key".
  package let key: String
  /// The prefixes of valid keys. Empty if any key is possible.
  package let keyPrefixes: [String]
  /// The URL of the page where users create a key.
  package let create: String
  /// Advice on the permissions of the key.
  package let scope: String
  package internal(set) var variables: [Variable] = []
  /// Further advice for the user. May be empty.
  package internal(set) var notes = ""
  /// The rules of the service. Empty if every request is allowed.
  package internal(set) var rules: [Rule] = []
  /// The rules for `--read-only`. Empty if the preset has no such rules.
  package internal(set) var readOnlyRules: [Rule] = []
  /// Whether bearerd waits for responses without a time limit.
  package internal(set) var hasNoTimeLimit = false
  package internal(set) var trial: Trial?
  /// Whether bearerd responds with 502 if the upstream rejects the key.
  package internal(set) var hidesRejection = false
  /// The value of the service's key `at`, such as `localhost:5000`. `nil` for the default path.
  package internal(set) var at: String?

  package static func named(_ name: String) -> Preset? { all.first { $0.name == name } }

  /// Returns the text with answers in place of `{NAME}`. Names without an answer remain.
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
