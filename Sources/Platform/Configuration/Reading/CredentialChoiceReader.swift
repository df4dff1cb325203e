internal import Policy
internal import Settings

/// Reads `credential` of a service or rule.
struct CredentialChoiceReader: SectionReader {
  let context: ReadingContext
  let credentials: [CredentialDraft]
  let combined = CombinedCredentials()

  /// Reads the name of a credential, a list of names, `none` or `pass`.
  func choice(_ node: YAMLNode) -> CredentialChoice? {
    if case .sequence(let nodes) = node.content { return combination(nodes, at: node.location) }
    guard let name = text(node, "the name of a credential, none or pass") else { return nil }
    switch name {
    case "none": return CredentialChoice.none
    case "pass": return .pass
    default: break
    }
    if let index = credentials.firstIndex(where: { $0.name == name }) { return .inject(index) }
    // The message repeats only text that is similar to a name. Other text may be a token.
    let names = credentials.map(\.name) + ["none", "pass"]
    let isNear = Suggestion.nearest(to: name, in: names) != nil
    return report.error(
      node.location, isNear ? "credential \(quoted(name)) not found" : "no credential has this name",
      help: known(names, nearest: name, "credentials"))
  }

  /// Reads a list of credentials that are sent together.
  private func combination(_ nodes: [YAMLNode], at location: TextLocation) -> CredentialChoice? {
    let errors = report.errorCount
    var parts: [Int] = []
    for node in nodes {
      switch choice(node) {
      case .inject(let index) where !credentials.indices.contains(index):
        report.error(
          node.location, "a list of credentials cannot contain another list", help: "write all names in one list")
      case .inject(let index) where parts.contains(index):
        report.error(node.location, "\"\(credentials[index].name)\" is listed twice")
      case .inject(let index):
        let credential = credentials[index]
        if let (reason, help) = obstacle(to: credential) {
          report.error(
            node.location, "credential \"\(credential.name)\" \(reason), and cannot be combined with others",
            help: "write this credential alone, without brackets, or \(help)")
        } else if !parts.contains(where: { checkOverlap(credentials[$0], credential, at: node.location) }) {
          parts.append(index)
        }
      case CredentialChoice.none?, .pass?:
        report.error(
          node.location, "\"none\" and \"pass\" are not allowed in a list of credentials",
          help: "write none or pass alone, without brackets")
      case nil: break
      }
    }
    guard errors == report.errorCount else { return nil }
    guard parts.count > 1 else {
      return report.error(
        location, "a list of credentials needs at least two", help: "write a single credential without brackets")
    }
    return .inject(credentials.count + combined.index(of: parts.sorted(), at: location))
  }

  /// Returns why a credential cannot be combined with others, and what the user should do.
  private func obstacle(to credential: CredentialDraft) -> (reason: String, help: String)? {
    let help = "use another kind of credential"
    if credential.scheme?.respondsToChallenges == true { return ("responds to a challenge of the upstream", help) }
    if credential.waitsForChallenge { return ("has mode: challenge", "delete its mode") }
    return credential.scheme?.login == nil ? nil : ("needs a login first", help)
  }

  /// Reports an error and returns `true` if both credentials set the same field, parameter or certificate.
  private func checkOverlap(_ one: CredentialDraft, _ other: CredentialDraft, at location: TextLocation) -> Bool {
    func common(_ one: [String], _ other: [String], as normalized: (String) -> String) -> String? {
      let names = Set(one.map(normalized))
      return other.first { names.contains(normalized($0)) }
    }
    let field = common(one.fieldNames, other.fieldNames, as: FieldRules.normalized)
    let parameter = common(
      one.scheme?.parameterNames ?? [], other.scheme?.parameterNames ?? [], as: FieldRules.normalizedParameter)
    let hasTwo = one.certificate != nil && other.certificate != nil
    guard
      let what = field.map({ "\"\($0)\"" }) ?? parameter.map({ "the parameter \"\($0)\"" })
        ?? (hasTwo ? "a client certificate" : nil)
    else { return false }
    report.error(
      location, "credentials \"\(one.name)\" and \"\(other.name)\" both set \(what)",
      help: "credentials that are sent together must set different things. Delete one of the two")
    return true
  }
}
