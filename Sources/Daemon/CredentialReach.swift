internal import Configuration
internal import Policy

/// Where one credential may go, what has to be proved there, and who may have it sent. Whoever can change the configuration
/// can change this, so a reload that does is told (T51).
struct CredentialReach {
  /// Each as the log has it.
  private var items: Set<String> = []
  /// Of each list in the log. A group may have thousands of members.
  private static let longestList = 16

  /// One line for each credential that is in both and reaches further, or less far.
  static func report(from old: Settings, to new: Settings, in journal: Journal) {
    for (index, grant) in new.rules.grants.enumerated() {
      guard let before = old.rules.grants.firstIndex(where: { $0.name == grant.name }) else { continue }
      let was = CredentialReach(of: before, in: old).items
      let now = CredentialReach(of: index, in: new).items
      if was == now { continue }
      journal.event(
        .notice, "credential-rebound", ("credential", grant.name), ("added", text(now.subtracting(was))),
        ("removed", text(was.subtracting(now))))
    }
  }

  private init(of grant: Int, in settings: Settings) {
    for origin in settings.rules.grants[grant].origins { items.insert(origin.description) }
    for service in settings.rules.services where service.injects(grant) {
      let listener = settings.listeners[service.listener]
      let lists = [listener.callers, service.callers, settings.rules.grants[grant].callers].compactMap { $0 }
      insert("user", lists.compactMap(\.uids).map { Set($0.map(String.init)) })
      let clients = listener.clients.isEmpty ? [] : [Set(listener.clients.map(\.name))]
      insert("client", clients + lists.compactMap(\.clients))
      insert(service.trust, of: service.upstream.origin)
    }
  }

  /// Who is in all of the lists.
  private mutating func insert(_ what: String, _ lists: [Set<String>]) {
    guard let first = lists.first else { return }
    for name in lists.dropFirst().reduce(first, { $0.intersection($1) }) { items.insert("\(what) \(name)") }
  }

  /// What its server has to show, beyond its name.
  private mutating func insert(_ trust: TrustPolicy, of origin: Origin) {
    let authorities = trust.caFile ?? "the system's authorities"
    let pins = trust.pinning.mode == .enforce ? trust.pinning.pins : []
    items.insert("\(authorities) for \(origin)\(pins.isEmpty ? " without pins" : "")")
    for pin in pins { items.insert("\(pin) for \(origin)") }
  }

  /// nil: there are none.
  private static func text(_ items: Set<String>) -> String? {
    if items.isEmpty { return nil }
    let rest = items.count - longestList
    return items.sorted().prefix(longestList).joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
  }
}

extension Service {
  /// Whether some request of it goes out with this grant.
  fileprivate func injects(_ grant: Int) -> Bool {
    guard let rules else { return credential == .inject(grant) }
    return rules.contains { $0.action == .forward(.inject(grant)) }
  }
}
