internal import Configuration
import Primitives

/// A service that `bearerctl add` writes: a preset with a name and answers.
package struct AddedService: Sendable {
  package let preset: Preset
  package let name: String
  /// The answers to the preset's questions, by the questions' names.
  package let answers: [String: String]
  package let isReadOnly: Bool
  /// The CA file for the upstream. `nil` for the system's certificate authorities.
  package let certificateFile: String?
  /// The value of the service's key `at`. `nil` if the service has the default path.
  package let at: String?

  package init(
    _ preset: Preset, name: String, answers: [String: String], isReadOnly: Bool = false, certificateFile: String? = nil,
    at: String? = nil
  ) {
    self.preset = preset
    self.name = name
    self.answers = answers
    self.isReadOnly = isReadOnly
    self.certificateFile = certificateFile
    self.at = at ?? preset.at
  }

  package var origin: String { filled(preset.origin) }

  package func filled(_ text: String) -> String { Preset.filled(text, answers) }

  package func yaml(secretFile: String) -> String {
    let title = preset.title.isEmpty || preset.name == "generic" ? origin : preset.title
    return """
      # \(title). Written by "bearerctl add \(preset.name)". "bearerctl remove \(name)" removes this file and the key.
      credentials:
        \(name):
          origins: [\(quoted(origin))]
          \(credential(secretFile))
      services:
        \(name):
      \(service.map { "    \($0)\n" }.joined())
      """
  }

  private func credential(_ secretFile: String) -> String {
    let source = "{ file: \(quoted(secretFile)) }"
    switch preset.scheme {
    case .bearer: return "bearer: \(source)"
    case .basic(let user): return "basic: { user: \(quoted(filled(user))), password: \(source) }"
    case .header(let header, let prefix):
      let start = prefix.isEmpty ? "" : "prefix: \(quoted(filled(prefix))), "
      return "headers: [{ name: \(quoted(filled(header))), \(start)value: \(source) }]"
    case .query(let parameter): return "query: { name: \(quoted(parameter)), value: \(source) }"
    case .registry(let realm, let user):
      return "registry: { realm: \(quoted(filled(realm))), user: \(quoted(filled(user))), password: \(source) }"
    }
  }

  private var service: [String] {
    var lines: [String] = []
    if let at { lines.append("at: \(at)") }
    lines += ["upstream: \(quoted(origin + "/"))", "credential: \(name)"]
    if let certificateFile { lines.append("ca_file: \(quoted(certificateFile))") }
    if preset.hasNoTimeLimit { lines.append("timeouts: { response_head: none }") }
    if preset.hidesRejection { lines.append("on_rejected: \"502\"") }
    let rules = isReadOnly ? preset.readOnlyRules : preset.rules
    if !rules.isEmpty { lines += ["rules:"] + rules.map { "  - \(line($0))" } }
    return lines
  }

  private func line(_ rule: Preset.Rule) -> String {
    var parts = ["match: \(quoted(filled(rule.match)))"]
    if !rule.methods.isEmpty { parts.append("methods: [\(rule.methods.joined(separator: ", "))]") }
    if rule.isDenied { parts.append("deny: true") }
    if !rule.reason.isEmpty { parts.append("description: \(quoted(rule.reason))") }
    return "{ \(parts.joined(separator: ", ")) }"
  }

  /// Returns the text as YAML, with quotation marks if YAML needs them.
  private func quoted(_ text: String) -> String {
    let isPlain =
      text.utf8.first.map { ($0 | 0x20) &- 0x61 < 26 || $0 == UInt8(ascii: "/") } == true
      && text.utf8.last != UInt8(ascii: ":")
      && text.utf8.allSatisfy { ASCII.isLetterOrDigit($0) || "/:._@-".utf8.contains($0) }
    return isPlain ? text : ConfigurationTree.quoted(text)
  }
}
