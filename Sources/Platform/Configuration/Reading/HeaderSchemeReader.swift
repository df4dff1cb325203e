internal import Policy
internal import Settings

/// Reads `headers` of a credential.
struct HeaderSchemeReader: SectionReader {
  let context: ReadingContext
  let origins: [Origin]

  func scheme(_ credential: Fields<CredentialKey>) -> AuthScheme? {
    guard let node = credential[.headers], let nodes = list(node) else { return nil }
    let errors = report.errorCount
    var names: Set<String> = []
    let headers = nodes.compactMap { header($0, names: &names) }
    guard errors == report.errorCount else { return nil }
    guard headers.contains(where: \.value.isSecret) else {
      return report.error(
        node.location, "none of these header fields has a secret",
        help: "write value: { file: NAME }. For values that are not secret, use set_headers of a service")
    }
    return .headers(headers)
  }

  private func list(_ node: YAMLNode) -> [YAMLNode]? {
    if case .sequence(let nodes) = node.content, !nodes.isEmpty { return nodes }
    if case .refused = node.content { return nil }
    let isEmpty = if case .sequence = node.content { true } else { false }
    return report.error(
      node.location, isEmpty ? "the list \"headers\" is empty" : "\"headers\" must be a list",
      help: "write [{ name: X-Api-Key, value: { file: NAME } }], or one line for each that begins with \"- \"")
  }

  private func header(_ node: YAMLNode, names: inout Set<String>) -> HeaderTemplate? {
    let header = HeaderFieldReader(context: context)
    guard let fields = fields(node, at: node.location, of: HeaderKey.self),
      let nameNode = required(.name, of: fields, "the header field has no name", help: "add name: X-Api-Key"),
      let name = header.name(nameNode, for: .credential)
    else { return nil }
    guard names.insert(FieldRules.normalized(name)).inserted else {
      return report.error(
        nameNode.location,
        "header field \"\(name)\" is set twice. Letter case does not matter, and \"_\" counts as \"-\"")
    }
    guard
      let valueNode = required(
        .value, of: fields, "the header field has no value", help: "add value: { file: NAME }")
    else { return nil }
    let prefix = fields[.prefix].flatMap { header.value($0, "a prefix like \"Bot \"", mayEndBlank: true) } ?? ""
    guard let value = value(.value, of: fields, "plain text, or { file: NAME }", for: .value, to: origins) else {
      return nil
    }
    if case .plain = value {
      guard !FieldRules.credentials.contains(FieldRules.normalized(name)) else {
        return refuseSecret(at: valueNode.location, writing: "value: { file: NAME }")
      }
      guard header.value(valueNode, "plain text, or { file: NAME }") != nil else { return nil }
    }
    return HeaderTemplate(name: name, prefix: prefix, value: value)
  }
}
