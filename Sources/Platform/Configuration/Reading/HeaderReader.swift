internal import Policy
import Primitives

/// The nodes of a service or a rule that say what happens to headers.
struct HeaderKeys {
  let set: YAMLNode?
  let remove: YAMLNode?
  let removeParameters: YAMLNode?
  let allow: YAMLNode?
  let onClient: YAMLNode?
}

extension SettingsReader {
  /// The policy that stands here over what the service says: a rule's word about a field replaces the service's about the same
  /// field.
  func headers(_ keys: HeaderKeys, over base: HeaderPolicy) -> HeaderPolicy {
    var policy = base
    let set = keys.set.map { settings($0) } ?? []
    let remove = keys.remove.map { names($0, for: .remove) } ?? []
    let setNames = Set(set.map { FieldRules.normalised($0.name) })
    if let node = keys.remove, let both = remove.first(where: { setNames.contains(FieldRules.normalised($0)) }) {
      report.error(
        node.place, "\"\(both)\" is both set and removed here",
        help: "delete it here: set_headers already replaces the field that the caller sent")
    }
    let removeNames = Set(remove.map { FieldRules.normalised($0) })
    policy.set.removeAll {
      let name = FieldRules.normalised($0.name)
      return setNames.contains(name) || removeNames.contains(name)
    }
    policy.remove.removeAll {
      let name = FieldRules.normalised($0)
      return setNames.contains(name) || removeNames.contains(name)
    }
    policy.set += set
    policy.remove += remove
    for name in keys.removeParameters.map({ parameterNames($0) }) ?? [] where !policy.removeParameters.contains(name) {
      policy.removeParameters.append(name)
    }
    for name in keys.allow.map({ names($0, for: .allow) }) ?? [] {
      let name = FieldRules.normalised(name)
      if !policy.allowClientHeaders.contains(name) { policy.allowClientHeaders.append(name) }
    }
    let choices: [(String, HeaderPolicy.OnClientHeader)] = [
      ("replace", .replace), ("keep", .keep), ("reject", .reject),
    ]
    if let onClient = keys.onClient.flatMap({ choice($0, choices) }) { policy.onClientHeader = onClient }
    return policy
  }

  private func settings(_ node: YAMLNode) -> [HeaderPolicy.Setting] {
    guard case .mapping(let entries) = node.content else {
      if case .refused = node.content { return [] }
      report.error(node.place, "\"set_headers\" must be a mapping from names to values", help: "write { X-Name: text }")
      return []
    }
    var settings: [HeaderPolicy.Setting] = []
    var names: Set<String> = []
    for entry in entries where !entry.isRefused {
      guard checkFieldName(entry.name, at: entry.key.place, for: .set) else { continue }
      guard names.insert(FieldRules.normalised(entry.name)).inserted else {
        report.error(
          entry.key.place,
          "header field \"\(entry.name)\" is set twice. Letter case does not matter, and \"_\" counts as \"-\"")
        continue
      }
      if let value = fieldValue(entry.value, "the value of a header field") {
        settings.append(HeaderPolicy.Setting(name: entry.name, value: Array(value.utf8)))
      }
    }
    return settings
  }

  /// As `HeaderPolicy.removeParameters`.
  private func parameterNames(_ node: YAMLNode) -> [String] {
    (filledList(node, of: "names of parameters") ?? []).compactMap { node in
      guard let name = text(node, "the name of a parameter") else { return nil }
      guard FieldRules.isParameterName(name) else {
        // Not repeated: behind a = there could be a secret.
        report.error(
          node.place, "this is not the name of a parameter",
          help: "write only the name, without \"=\", a value or percent-escapes, as in [key]")
        return nil
      }
      return FieldRules.normalisedParameter(name)
    }
  }

  /// Lower-case, each once.
  private func names(_ node: YAMLNode, for use: FieldRules.Use) -> [String] {
    var names: [String] = []
    var seen: Set<String> = []
    for node in filledList(node, of: "names of header fields") ?? [] {
      guard let name = fieldName(node, for: use).map({ ASCII.lowercased($0) }) else { continue }
      if seen.insert(name).inserted { names.append(name) }
    }
    return names
  }
}
