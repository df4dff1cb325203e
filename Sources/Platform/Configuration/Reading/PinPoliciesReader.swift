internal import Policy
internal import Settings

extension PinPolicyKey: PinKey {
  static let pinsExpire = Self.expires
  static let ifTrustFails = "requests to these hosts get 502"
}

/// Reads `pin_policies`: pins for host names.
struct PinPoliciesReader: SectionReader {
  let context: ReadingContext

  func policies(_ top: Fields<TopKey>) -> PinPolicies {
    var policies = PinPolicies()
    guard let node = top[.pinPolicies] else { return policies }
    var exclusions: [(name: String, location: TextLocation)] = []
    for entry in entries(node, "its pins") {
      guard let name = hostName(entry), let policy = policy(entry, of: name) else { continue }
      if case .excluded = policy { exclusions.append((name, entry.key.location)) }
      if !policies.insert(policy, for: name) {
        report.error(entry.key.location, "\(quoted(name)) is listed twice", help: "delete one of the two")
      }
    }
    for (name, location) in exclusions where policies.parent(of: name) == nil {
      report.error(
        location, "there is no policy from which to exclude \(quoted(name))",
        help: "delete the entry, or add include_subdomains: true to the policy of its parent domain")
    }
    return policies
  }

  /// Warns about policies that apply to no server.
  /// - Parameter servers: all servers that bearerd connects to over TLS.
  func checkUse(_ top: Fields<TopKey>, by servers: [(host: HostName, pinning: PinPolicy)]) {
    guard case .mapping(let entries)? = top[.pinPolicies]?.content else { return }
    let used = Set(
      servers.compactMap { server -> String? in
        if let policy = server.pinning.policy { return policy }
        guard server.pinning.pins.isEmpty, let (name, entry) = context.pinPolicies.entry(for: server.host) else {
          return nil
        }
        return entry == .excluded ? name : nil
      })
    for entry in entries {
      guard case .name(let name)? = try? HostName(parsing: entry.name), !used.contains(name) else { continue }
      report.warning(
        entry.key.location, "no upstream or token endpoint uses this policy",
        help: "compare the name with the host names of the upstreams. Pins of a service take precedence over a policy")
    }
  }

  private func hostName(_ entry: YAMLEntry) -> String? {
    if entry.name.hasPrefix("*."), entry.name.utf8.count > 2 {
      return report.error(
        entry.key.location, "a policy has no wildcard",
        help: "write \(String(entry.name.dropFirst(2))): { include_subdomains: true, … }")
    }
    let host: HostName
    do throws(PolicySyntaxError) { host = try HostName(parsing: entry.name) } catch {
      return report.error(entry.key.location, error.message)
    }
    switch host {
    case .address:
      return report.error(
        entry.key.location, "a policy needs a host name, and this is an address", help: "write pins into the service")
    case .name(let name) where !name.contains("."):
      return report.error(
        entry.key.location, "\(quoted(name)) is not a whole domain name", help: "write pins into the service")
    case .name(let name): return name
    }
  }

  private func policy(_ entry: YAMLEntry, of name: String) -> PinPolicies.Entry? {
    guard let fields = fields(entry.value, at: entry.key.location, of: PinPolicyKey.self) else { return nil }
    let errors = report.errorCount
    let isExcluded = boolean(.exclude, of: fields) ?? false
    let includesSubdomains = boolean(.includeSubdomains, of: fields) ?? false
    if isExcluded {
      for key in PinPolicyKey.allCases where key != .exclude && fields.has(key) {
        report.error(
          fields.location(of: key), "\(quoted(key.rawValue)) is not allowed with exclude: true", help: "delete the line"
        )
      }
      return report.errorCount == errors ? .excluded : nil
    }
    guard fields.has(.pins) else {
      return report.error(
        entry.key.location, "this policy has no pins",
        help: "add pins: [sha256/…, sha256/…]. \"bearerctl pin \(name)\" prints them")
    }
    var pinning = PinsReader(context: context, fields: fields).pinning()
    (pinning.policy, pinning.includesSubdomains) = (name, includesSubdomains)
    guard report.errorCount == errors else { return nil }
    if let node = fields[.includeSubdomains], includesSubdomains { checkSuffix(name, at: node.location) }
    return .pinned(pinning, includesSubdomains: includesSubdomains)
  }

  /// Warns if `name` is a public suffix, such as `co.uk`, below which anyone can register names.
  private func checkSuffix(_ name: String, at location: TextLocation) {
    guard let list = environment.files.content(PublicSuffixes.path), PublicSuffixes.contains(name, list: list) else {
      return
    }
    report.warning(
      location, "\(quoted(name)) is a public suffix: names below it belong to different owners",
      help: "write policies for the names that you use")
  }
}
