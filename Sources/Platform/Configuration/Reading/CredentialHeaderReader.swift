internal import Policy

/// `headers` of a credential: fields that together are one identity.
extension SettingsReader {
  func headers(_ node: YAMLNode, for origins: [Origin]) -> CredentialSettings.Scheme? {
    guard let nodes = credentialList(node) else { return nil }
    let errors = report.errorCount
    var headers: [CredentialSettings.Header] = []
    var names: Set<String> = []
    for node in nodes {
      guard let header = header(node, names: &names, for: origins) else { continue }
      headers.append(header)
    }
    guard errors == report.errorCount else { return nil }
    guard headers.contains(where: \.isSecret) else {
      report.error(
        node.place, "none of these headers has a secret",
        help: "write value: { file: NAME }; for plain headers a service has set_headers")
      return nil
    }
    return .headers(headers)
  }

  private func credentialList(_ node: YAMLNode) -> [YAMLNode]? {
    if case .sequence(let nodes) = node.content, !nodes.isEmpty { return nodes }
    if case .refused = node.content { return nil }
    report.error(
      node.place, "\"headers\" is a list",
      help: "write [{ name: X-Api-Key, value: { file: NAME } }], or one - line for each")
    return nil
  }

  private func header(
    _ node: YAMLNode, names: inout Set<String>, for origins: [Origin]
  ) -> CredentialSettings.Header? {
    guard let fields = fields(node, at: node.place, of: HeaderKey.self) else { return nil }
    guard let nameNode = fields[.name] else {
      missing(.name, in: fields, "the header has no name", help: "add to it: name: X-Api-Key")
      return nil
    }
    guard let name = fieldName(nameNode, for: .credential) else { return nil }
    guard names.insert(FieldRules.normalised(name)).inserted else {
      report.error(
        nameNode.place, "a credential sets \"\(name)\" once: two lines would leave the choice to the upstream")
      return nil
    }
    guard let valueNode = fields[.value] else {
      missing(.value, in: fields, "the header has no value", help: "add to it: value: { file: NAME }")
      return nil
    }
    let prefix = fields[.prefix].flatMap { fieldValue($0, "a prefix like \"Bot \"", mayEndBlank: true) } ?? ""
    let use = SecretUse(role: .value, origins: origins)
    guard let value = value(valueNode, at: fields.place(of: .value), "plain text, or { file: NAME }", for: use) else {
      return nil
    }
    if case .plain = value {
      guard !FieldRules.credentials.contains(FieldRules.normalised(name)) else {
        report.error(
          valueNode.place, "a secret does not stand in this file",
          help: "put it into a file that only the daemon can read, and write value: { file: NAME }")
        return nil
      }
      guard fieldValue(valueNode, "plain text, or { file: NAME }") != nil else { return nil }
    }
    return CredentialSettings.Header(name: name, prefix: prefix, value: value)
  }
}

extension CredentialSettings.Header {
  fileprivate var isSecret: Bool {
    switch value {
    case .plain: false
    case .secret: true
    }
  }
}
