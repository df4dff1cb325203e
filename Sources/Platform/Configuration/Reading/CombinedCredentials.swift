internal import Policy
internal import Settings

/// Collects lists of credentials, such as `credential: [a, b]`.
final class CombinedCredentials {
  private(set) var all: [(parts: [Int], location: TextLocation)] = []

  /// Returns the index in `all` of a list of sorted credential indices, and appends a new list.
  func index(of parts: [Int], at location: TextLocation) -> Int {
    if let known = all.firstIndex(where: { $0.parts == parts }) { return known }
    all.append((parts, location))
    return all.count - 1
  }

  /// Returns a combined credential for each list.
  func drafts(of credentials: [CredentialDraft]) -> [CredentialDraft] {
    // A combined credential has only the origins and callers that all its credentials allow.
    all.map { set in
      let parts = set.parts.map { credentials[$0] }
      var draft = CredentialDraft(
        name: parts.map(\.name).joined(separator: "+"), location: parts[0].location,
        originsLocation: parts[0].originsLocation)
      draft.origins = parts[0].origins.filter { origin in parts.allSatisfy { $0.origins.contains(origin) } }
      draft.callers = parts.compactMap(\.callers).reduce(nil) { $0?.intersection($1) ?? $1 }
      let schemes = parts.compactMap(\.scheme)
      draft.scheme = schemes.count == parts.count ? .all(schemes) : nil
      draft.certificate = parts.compactMap(\.certificate).first
      let renewable = parts.first { $0.scheme?.token != nil }
      (draft.replayBuffer, draft.refreshOn) = (renewable?.replayBuffer, renewable?.refreshOn ?? [])
      let suspensions = parts.compactMap(\.suspension)
      draft.suspension = suspensions.first.map { first in
        var strictest = first
        for other in suspensions.dropFirst() {
          (strictest.after, strictest.time) = (min(strictest.after, other.after), max(strictest.time, other.time))
        }
        return strictest
      }
      draft.parts = set.parts
      draft.partGrants = parts.map(\.grant)
      return draft
    }
  }
}

extension SettingsReader {
  /// Reads a list of credentials that are sent together.
  func choice(_ nodes: [YAMLNode], at location: TextLocation, among credentials: [CredentialDraft]) -> CredentialChoice?
  {
    let errors = report.errorCount
    var parts: [Int] = []
    for node in nodes {
      switch choice(node, among: credentials) {
      case .inject(let index) where parts.contains(index):
        report.error(node.location, "\"\(credentials[index].name)\" is listed twice")
      case .inject(let index) where credentials[index].scheme?.respondsToChallenges == true:
        report.error(
          node.location,
          "credential \"\(credentials[index].name)\" responds to a challenge of the upstream, and cannot be combined with others",
          help: "write this credential alone, without brackets, or use another kind of credential")
      case .inject(let index) where credentials[index].waitsForChallenge:
        report.error(
          node.location,
          "credential \"\(credentials[index].name)\" has mode: challenge, and cannot be combined with others",
          help: "write this credential alone, without brackets, or delete its mode")
      case .inject(let index) where credentials[index].scheme?.login != nil:
        report.error(
          node.location,
          "credential \"\(credentials[index].name)\" needs a login first, and cannot be combined with others",
          help: "write this credential alone, without brackets, or use another kind of credential")
      case .inject(let index):
        let overlaps = parts.contains { checkOverlap(credentials[$0], credentials[index], at: node.location) }
        if !overlaps { parts.append(index) }
      case CredentialChoice.none?, .pass?:
        report.error(
          node.location, "\"none\" and \"pass\" are not allowed in a list of credentials",
          help: "write none or pass alone, without brackets")
      case nil: break
      }
    }
    guard errors == report.errorCount else { return nil }
    guard parts.count > 1 else {
      report.error(
        location, "a list of credentials needs at least two", help: "write a single credential without brackets")
      return nil
    }
    return .inject(credentials.count + combined.index(of: parts.sorted(), at: location))
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
