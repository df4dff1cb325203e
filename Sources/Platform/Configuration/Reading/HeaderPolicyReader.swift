internal import Policy
import Primitives
internal import Settings

/// The keys of a service or rule that change header fields and query parameters.
protocol HeaderPolicyKey: ConfigurationKey {
  static var setHeaders: Self { get }
  static var removeHeaders: Self { get }
  static var removeParameters: Self { get }
  static var allowClientHeaders: Self { get }
  static var onClientHeader: Self { get }
}

extension ServiceKey: HeaderPolicyKey {}
extension RuleKey: HeaderPolicyKey {}

extension Fields where Key: HeaderPolicyKey {
  /// The location for messages about the header fields.
  var headersLocation: TextLocation { location(of: has(.setHeaders) ? .setHeaders : .allowClientHeaders) }
}

/// Reads `set_headers` and the similar keys of a service or rule.
struct HeaderPolicyReader<Key: HeaderPolicyKey>: SectionReader {
  let context: ReadingContext
  let fields: Fields<Key>

  func policy(over base: HeaderPolicy) -> HeaderPolicy {
    var policy = base
    let set = fields[.setHeaders].map { settings($0) } ?? []
    let remove = names(.removeHeaders, for: .remove)
    let setNames = Set(set.map { FieldRules.normalized($0.name) })
    if let node = fields[.removeHeaders],
      let both = remove.first(where: { setNames.contains(FieldRules.normalized($0)) })
    {
      report.error(
        node.location, "\"\(both)\" is both set and removed here",
        help: "delete it here: set_headers already replaces the field that the caller sent")
    }
    let changed = setNames.union(remove.map(FieldRules.normalized))
    policy.set.removeAll { changed.contains(FieldRules.normalized($0.name)) }
    policy.remove.removeAll { changed.contains(FieldRules.normalized($0)) }
    policy.set += set
    policy.remove += remove
    for name in parameterNames() where !policy.removeParameters.contains(name) {
      policy.removeParameters.append(name)
    }
    for name in names(.allowClientHeaders, for: .allow) {
      let name = FieldRules.normalized(name)
      if !policy.allowClientHeaders.contains(name) { policy.allowClientHeaders.append(name) }
    }
    policy.onClientHeader = choice(.onClientHeader, of: fields) ?? policy.onClientHeader
    return policy
  }

  private var header: HeaderFieldReader { HeaderFieldReader(context: context) }

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
      guard header.check(entry.name, at: entry.key.location, for: .set) else { continue }
      guard names.insert(FieldRules.normalized(entry.name)).inserted else {
        report.error(
          entry.key.location,
          "header field \"\(entry.name)\" is set twice. Letter case does not matter, and \"_\" counts as \"-\"")
        continue
      }
      if let value = header.value(entry.value, "the value of a header field") {
        settings.append(HeaderPolicy.Setting(name: entry.name, value: Array(value.utf8)))
      }
    }
    return settings
  }

  private func parameterNames() -> [String] {
    let nodes = fields[.removeParameters].flatMap { filledList($0, of: "names of parameters") } ?? []
    let help = "write only the name, without \"=\", a value or percent-escapes, as in [key]"
    return nodes.compactMap { header.parameterName($0, help: help).map(FieldRules.normalizedParameter) }
  }

  /// Reads names of header fields, in lowercase and without duplicates.
  private func names(_ key: Key, for use: FieldRules.Use) -> [String] {
    let nodes = fields[key].flatMap { filledList($0, of: "names of header fields") } ?? []
    var seen: Set<String> = []
    return nodes.compactMap { header.name($0, for: use).map { ASCII.lowercased($0) } }.filter {
      seen.insert($0).inserted
    }
  }
}
