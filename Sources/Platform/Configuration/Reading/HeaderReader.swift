internal import Policy
import Primitives

/// The values of `set_headers` and the similar keys of a service or rule.
struct HeaderKeys {
  let set: YAMLNode?
  let remove: YAMLNode?
  let removeParameters: YAMLNode?
  let allow: YAMLNode?
  let onClient: YAMLNode?
}

extension SettingsReader {
  func headers(_ keys: HeaderKeys, over base: HeaderPolicy) -> HeaderPolicy {
    var policy = base
    let set = keys.set.map { settings($0) } ?? []
    let remove = keys.remove.map { names($0, for: .remove) } ?? []
    let setNames = Set(set.map { FieldRules.normalized($0.name) })
    if let node = keys.remove, let both = remove.first(where: { setNames.contains(FieldRules.normalized($0)) }) {
      report.error(
        node.location, "\"\(both)\" is both set and removed here",
        help: "delete it here: set_headers already replaces the field that the caller sent")
    }
    let removeNames = Set(remove.map { FieldRules.normalized($0) })
    policy.set.removeAll {
      let name = FieldRules.normalized($0.name)
      return setNames.contains(name) || removeNames.contains(name)
    }
    policy.remove.removeAll {
      let name = FieldRules.normalized($0)
      return setNames.contains(name) || removeNames.contains(name)
    }
    policy.set += set
    policy.remove += remove
    for name in keys.removeParameters.map({ parameterNames($0) }) ?? [] where !policy.removeParameters.contains(name) {
      policy.removeParameters.append(name)
    }
    for name in keys.allow.map({ names($0, for: .allow) }) ?? [] {
      let name = FieldRules.normalized(name)
      if !policy.allowClientHeaders.contains(name) { policy.allowClientHeaders.append(name) }
    }
    policy.onClientHeader = keys.onClient.flatMap { choice($0) } ?? policy.onClientHeader
    return policy
  }

  private func settings(_ node: YAMLNode) -> [HeaderPolicy.Setting] {
    guard case .mapping(let entries) = node.content else {
      if case .refused = node.content { return [] }
      report.error(
        node.location, "\"set_headers\" must be a mapping from names to values", help: "write { X-Name: text }")
      return []
    }
    var settings: [HeaderPolicy.Setting] = []
    var names: Set<String> = []
    for entry in entries where !entry.isRefused {
      guard checkFieldName(entry.name, at: entry.key.location, for: .set) else { continue }
      guard names.insert(FieldRules.normalized(entry.name)).inserted else {
        report.error(
          entry.key.location,
          "header field \"\(entry.name)\" is set twice. Letter case does not matter, and \"_\" counts as \"-\"")
        continue
      }
      if let value = fieldValue(entry.value, "the value of a header field") {
        settings.append(HeaderPolicy.Setting(name: entry.name, value: Array(value.utf8)))
      }
    }
    return settings
  }

  /// Reads names of query parameters, and normalizes them.
  private func parameterNames(_ node: YAMLNode) -> [String] {
    (filledList(node, of: "names of parameters") ?? []).compactMap { node in
      guard let name = text(node, "the name of a parameter") else { return nil }
      guard FieldRules.isParameterName(name) else {
        // The message omits the text, which may have a secret after `=`.
        report.error(
          node.location, "this is not the name of a parameter",
          help: "write only the name, without \"=\", a value or percent-escapes, as in [key]")
        return nil
      }
      return FieldRules.normalizedParameter(name)
    }
  }

  /// Reads names of header fields, in lowercase and without duplicates.
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
