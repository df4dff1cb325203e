internal import Policy
internal import Settings

extension SettingsReader {
  func headers(_ node: YAMLNode, for origins: [Origin]) -> AuthScheme? {
    guard let nodes = credentialList(node) else { return nil }
    let errors = report.errorCount
    var headers: [HeaderTemplate] = []
    var names: Set<String> = []
    for node in nodes {
      guard let header = header(node, names: &names, for: origins) else { continue }
      headers.append(header)
    }
    guard errors == report.errorCount else { return nil }
    guard headers.contains(where: \.value.isSecret) else {
      report.error(
        node.location, "none of these header fields has a secret",
        help: "write value: { file: NAME }. For values that are not secret, use set_headers of a service")
      return nil
    }
    return .headers(headers)
  }

  private func credentialList(_ node: YAMLNode) -> [YAMLNode]? {
    if case .sequence(let nodes) = node.content, !nodes.isEmpty { return nodes }
    if case .refused = node.content { return nil }
    let isEmpty = if case .sequence = node.content { true } else { false }
    report.error(
      node.location, isEmpty ? "the list \"headers\" is empty" : "\"headers\" must be a list",
      help: "write [{ name: X-Api-Key, value: { file: NAME } }], or one line for each that begins with \"- \"")
    return nil
  }

  private func header(
    _ node: YAMLNode, names: inout Set<String>, for origins: [Origin]
  ) -> HeaderTemplate? {
    guard let fields = fields(node, at: node.location, of: HeaderKey.self) else { return nil }
    guard let nameNode = fields[.name] else {
      missing(.name, in: fields, "the header field has no name", help: "add name: X-Api-Key")
      return nil
    }
    guard let name = fieldName(nameNode, for: .credential) else { return nil }
    guard names.insert(FieldRules.normalized(name)).inserted else {
      report.error(
        nameNode.location,
        "header field \"\(name)\" is set twice. Letter case does not matter, and \"_\" counts as \"-\"")
      return nil
    }
    guard let valueNode = fields[.value] else {
      missing(.value, in: fields, "the header field has no value", help: "add value: { file: NAME }")
      return nil
    }
    let prefix = fields[.prefix].flatMap { fieldValue($0, "a prefix like \"Bot \"", mayEndBlank: true) } ?? ""
    let use = SecretUse(role: .value, origins: origins)
    guard let value = value(valueNode, at: fields.location(of: .value), "plain text, or { file: NAME }", for: use)
    else {
      return nil
    }
    if case .plain = value {
      guard !FieldRules.credentials.contains(FieldRules.normalized(name)) else {
        report.error(
          valueNode.location, "secrets are not allowed in this file",
          help: "put the secret into a file that only the daemon can read, and write value: { file: NAME }")
        return nil
      }
      guard fieldValue(valueNode, "plain text, or { file: NAME }") != nil else { return nil }
    }
    return HeaderTemplate(name: name, prefix: prefix, value: value)
  }
}
