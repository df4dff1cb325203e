internal import Policy
internal import Settings

/// Reads `headers` of `oauth2` or `login`: additional header fields of requests for tokens.
struct RequestHeadersReader: SectionReader {
  let context: ReadingContext
  /// The origin of the endpoint.
  let origins: [Origin]
  /// Whether the client's authentication sets `Authorization`.
  var setsAuthorization = false

  private static let maxFields = 32

  func fields(_ node: YAMLNode?) -> [LoginForm.Field] {
    guard let node else { return [] }
    let all = entries(node, "a value, or { file: NAME }")
    guard all.count <= Self.maxFields else {
      report.error(node.location, "\(all.count) header fields are too many: at most \(Self.maxFields) are allowed")
      return []
    }
    var names: Set<String> = []
    return all.compactMap { field($0, &names) }
  }

  private func field(_ entry: YAMLEntry, _ names: inout Set<String>) -> LoginForm.Field? {
    let header = HeaderFieldReader(context: context)
    guard header.check(entry.name, at: entry.key.location, for: .credential) else { return nil }
    let name = FieldRules.normalized(entry.name)
    if name.hasPrefix("content-") || name == "accept-encoding" {
      return report.error(
        entry.key.location, "\"\(entry.name)\" is not allowed here: bearerd sets this header field itself",
        help: "delete the line")
    }
    if name == "authorization", setsAuthorization {
      return report.error(
        entry.key.location, "\"\(entry.name)\" is not allowed here: client_auth already sets this header field",
        help: "delete the line, or write client_auth: none")
    }
    guard names.insert(name).inserted else {
      return report.error(
        entry.key.location,
        "header field \"\(entry.name)\" is set twice. Letter case does not matter, and \"_\" counts as \"-\"")
    }
    let use = SecretUse(role: .value, origins: origins)
    let source = SourceReader(context: context, use: use)
    guard let value = source.value(entry.value, at: entry.key.location, "text, or { file: NAME }") else { return nil }
    if case .plain(let text) = value {
      guard !FieldRules.credentials.contains(name) else {
        return refuseSecret(at: entry.value.location)
      }
      guard header.value(entry.value, "text, or { file: NAME }") != nil else { return nil }
      warnIfSecret(text, after: "", at: entry.value.location)
    }
    return LoginForm.Field(entry.name, value)
  }
}
