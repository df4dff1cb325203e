internal import Policy

/// Credentials that are named together: `credential: [a, b]`. Each such set is a credential of its own, behind those of the file.
final class CredentialPairs {
  private(set) var all: [(parts: [Int], place: TextLocation)] = []

  /// - Parameter parts: sorted.
  func index(of parts: [Int], at place: TextLocation) -> Int {
    if let known = all.firstIndex(where: { $0.parts == parts }) { return known }
    all.append((parts, place))
    return all.count - 1
  }

  /// Credentials that go where all of their parts may go, for all who may use each of them.
  func drafts(of credentials: [CredentialDraft]) -> [CredentialDraft] {
    all.map { set in
      let parts = set.parts.map { credentials[$0] }
      var draft = CredentialDraft(
        name: parts.map(\.name).joined(separator: "+"), place: parts[0].place, originsPlace: parts[0].originsPlace)
      draft.origins = parts[0].origins.filter { origin in parts.allSatisfy { $0.origins.contains(origin) } }
      draft.callers = parts.compactMap(\.callers).reduce(nil) { $0?.intersection($1) ?? $1 }
      let schemes = parts.compactMap(\.scheme)
      draft.scheme = schemes.count == parts.count ? .all(schemes) : nil
      draft.certificate = parts.compactMap(\.certificate).first
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
  /// Several that set different fields.
  func choice(_ nodes: [YAMLNode], at place: TextLocation, among credentials: [CredentialDraft]) -> CredentialChoice? {
    let errors = report.errorCount
    var parts: [Int] = []
    for node in nodes {
      switch choice(node, among: credentials) {
      case .inject(let index) where parts.contains(index):
        report.error(node.place, "\"\(credentials[index].name)\" is listed twice")
      case .inject(let index) where credentials[index].scheme?.answersChallenges == true:
        report.error(
          node.place,
          "credential \"\(credentials[index].name)\" responds to a challenge of the upstream, and cannot be combined with others",
          help: "write this credential alone, without brackets, or use another kind of credential")
      case .inject(let index) where credentials[index].isAwaited:
        report.error(
          node.place,
          "credential \"\(credentials[index].name)\" has mode: challenge, and cannot be combined with others",
          help: "write this credential alone, without brackets, or delete its mode")
      case .inject(let index) where credentials[index].scheme?.login != nil:
        report.error(
          node.place,
          "credential \"\(credentials[index].name)\" needs a login first, and cannot be combined with others",
          help: "write this credential alone, without brackets, or use another kind of credential")
      case .inject(let index):
        let overlaps = parts.contains { checkOverlap(credentials[$0], credentials[index], at: node.place) }
        if !overlaps { parts.append(index) }
      case CredentialChoice.none?, .pass?:
        report.error(
          node.place, "\"none\" and \"pass\" are not allowed in a list of credentials",
          help: "write none or pass alone, without brackets")
      case nil: break
      }
    }
    guard errors == report.errorCount else { return nil }
    guard parts.count > 1 else {
      report.error(
        place, "a list of credentials needs at least two", help: "write a single credential without brackets")
      return nil
    }
    return .inject(credentials.count + pairs.index(of: parts.sorted(), at: place))
  }

  /// True: they set the same, which is reported.
  private func checkOverlap(_ one: CredentialDraft, _ other: CredentialDraft, at place: TextLocation) -> Bool {
    func common(_ one: [String], _ other: [String], as normalised: (String) -> String) -> String? {
      let names = Set(one.map(normalised))
      return other.first { names.contains(normalised($0)) }
    }
    let field = common(one.fieldNames, other.fieldNames, as: FieldRules.normalised)
    let parameter = common(
      one.scheme?.parameterNames ?? [], other.scheme?.parameterNames ?? [], as: FieldRules.normalisedParameter)
    let hasTwo = one.certificate != nil && other.certificate != nil
    guard
      let what = field.map({ "\"\($0)\"" }) ?? parameter.map({ "the parameter \"\($0)\"" })
        ?? (hasTwo ? "a client certificate" : nil)
    else { return false }
    report.error(
      place, "credentials \"\(one.name)\" and \"\(other.name)\" both set \(what)",
      help: "credentials that are sent together must set different things. Delete one of the two")
    return true
  }
}
