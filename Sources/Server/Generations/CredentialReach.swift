package import Log
internal import Policy
internal import Settings
internal import StatusModel

/// The reach of one credential: its secret, the origins that can get it, their TLS checks, and the permitted callers
/// (T51).
package struct CredentialReach {
  private var items: Set<String> = []
  /// Maximum number of entries of a list in the log.
  private static let longestList = 16

  /// How a new configuration changes one credential's reach, as log text. `nil` if there is nothing to report.
  package struct Change: Sendable {
    let credential: String
    let added: String?
    let removed: String?
  }

  /// Returns the changes in the reach of credentials. Takes too long for a call on the loop.
  static func changes(from old: DaemonSettings, to new: DaemonSettings) -> [Change] {
    let (now, was) = (all(of: new), all(of: old))
    let oldSources = old.credentials.indices.map { secrets(of: $0, in: old) }
    let oldIndex = Dictionary(old.rules.grants.indices.map { (old.rules.grants[$0].name, $0) }) { first, _ in first }
    var changes: [Change] = []
    // The parts of a combined credential are reported separately.
    for (index, grant) in new.rules.grants.enumerated() where grant.parts.isEmpty {
      let items = now[index].items
      let change: Change
      if let before = oldIndex[grant.name] {
        let (secrets, oldSecrets) = secrets(of: index, before, in: new, old)
        change = Change(
          credential: grant.name, added: text(secrets.union(items.subtracting(was[before].items))),
          removed: text(oldSecrets.union(was[before].items.subtracting(items))))
      } else {
        let sources = secrets(of: index, in: new)
        let holders = old.credentials.indices.filter { !oldSources[$0].isDisjoint(with: sources) }
        if holders.isEmpty { continue }
        let earlier = holders.reduce(into: Set()) { $0.formUnion(was[$1].items) }
        change = Change(credential: grant.name, added: text(items.subtracting(earlier)), removed: nil)
      }
      if change.added != nil || change.removed != nil { changes.append(change) }
    }
    return changes
  }

  package static func report(_ change: Change, in log: EventLog) {
    log.event(
      .credentialRebound, ("credential", change.credential), ("added", change.added),
      ("removed", change.removed))
  }

  /// Returns the secret sources of a credential that only the new configuration has, and those that only the old one
  /// has.
  /// - Parameters:
  ///   - index: the credential's index in `new`.
  ///   - before: the credential's index in `old`.
  private static func secrets(
    of index: Int, _ before: Int, in new: DaemonSettings, _ old: DaemonSettings
  ) -> (now: Set<String>, was: Set<String>) {
    let (now, was) = (secrets(of: index, in: new), secrets(of: before, in: old))
    return (Set(now.subtracting(was).map(\.location)), Set(was.subtracting(now).map(\.location)))
  }

  private static func secrets(of index: Int, in settings: DaemonSettings) -> Set<SecretSource> {
    Set(settings.credentials[index].allSources.map(\.withoutTiming))
  }

  private static func all(of settings: DaemonSettings) -> [CredentialReach] {
    let grants = settings.rules.grants
    var reaches = grants.map { grant in
      var reach = CredentialReach()
      for origin in grant.origins { reach.items.insert(origin.description) }
      return reach
    }
    let indices = Dictionary(grants.indices.map { (grants[$0].name, $0) }) { first, _ in first }
    for service in settings.rules.services {
      var used = service.usedGrants
      for grant in service.usedGrants { used.formUnion(grants[grant].parts.compactMap { indices[$0.name] }) }
      for grant in used { reaches[grant].insert(service, grants[grant], settings.listeners[service.listener]) }
    }
    return reaches
  }

  private mutating func insert(_ service: Service, _ grant: Grant, _ listener: ListenerSettings) {
    let lists = [listener.callers, service.callers, grant.callers].compactMap { $0 }
    insert("user", lists.compactMap(\.uids).map { Set($0.map(String.init)) })
    let clients = listener.clients.isEmpty ? [] : [Set(listener.clients.map(\.name))]
    insert("client", clients + lists.compactMap(\.clients))
    insert(service.trust, of: service.upstream.origin)
    if let host = service.upstream.dialHost {
      items.insert("\(service.upstream.origin) by a connection to \(host)")
    }
  }

  /// Adds an item, such as `user 1000`, for each name that all lists contain.
  private mutating func insert(_ what: String, _ lists: [Set<String>]) {
    guard let first = lists.first else { return }
    for name in lists.dropFirst().reduce(first, { $0.intersection($1) }) { items.insert("\(what) \(name)") }
  }

  private mutating func insert(_ trust: TrustPolicy, of origin: Origin) {
    let authorities = trust.caFile ?? "the system's authorities"
    let pins = trust.pinning.mode == .enforce ? trust.pinning.pins : []
    // Without these words if revocation is not checked: a weaker check adds to the reach of the credential.
    let revocation = [
      trust.revocation?.listFile.map { "revocation lists in \($0)" },
      trust.revocation?.stapling.map { "stapling: \($0.rawValue)" },
    ].compactMap { $0 }.joined(separator: " and ")
    items.insert(
      "\(authorities) for \(origin)\(pins.isEmpty ? " without pins" : "")"
        + (revocation.isEmpty ? "" : " with \(revocation)"))
    for pin in pins { items.insert("\(pin) for \(origin)") }
  }

  /// Returns one line of log text. `nil` if `items` is empty.
  private static func text(_ items: Set<String>) -> String? {
    if items.isEmpty { return nil }
    let rest = items.count - longestList
    return items.sorted().prefix(longestList).joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
  }
}

extension SecretSource {
  /// The source without settings that do not determine the secret, such as timeouts.
  fileprivate var withoutTiming: SecretSource {
    switch self {
    case .file, .systemd, .env: self
    case .command(let command): .command(command.withoutTiming)
    case .userOfCommand(let command): .userOfCommand(command.withoutTiming)
    case .token(let token): .token(token.withoutTiming)
    }
  }

  /// The source as log text, without the arguments of commands.
  fileprivate var location: String {
    switch self {
    case .file(let path): "file \(path)"
    case .systemd(let name): "systemd \(name)"
    case .env(let name): "env \(name)"
    case .command(let command): "command \(command.location)"
    case .userOfCommand(let command): "user of command \(command.location)"
    case .token(let token):
      token.form == nil
        ? "token endpoint \(token.endpoint) for client \(token.client.id)" : "login at \(token.endpoint)"
    }
  }
}

extension SecretCommand {
  /// The command without settings that do not determine the secret, such as timeouts.
  fileprivate var withoutTiming: SecretCommand {
    let format: CommandFormat =
      switch self.format {
      case .text, .execCredential, .dockerCredential: self.format
      case .gitCredential(let description, _): .gitCredential(description, stores: false)
      }
    return SecretCommand(
      words: words, format: format, timeToLive: nil, timeout: 0, passedVariables: Set(passedVariables))
  }

  fileprivate var location: String {
    switch format {
    case .text: path
    case .execCredential: "\(path) (\(format.name))"
    case .dockerCredential(let server): "\(path) (\(format.name) for \(server))"
    case .gitCredential(let description, _):
      "\(path) (\(format.name) for \(description.user.map { "\($0)@" } ?? "")\(description.host)"
        + "\(description.path.map { "/\($0)" } ?? ""))"
    }
  }
}

extension TokenSource {
  fileprivate var withoutTiming: TokenSource {
    var source = self
    (source.lead, source.skew, source.timeout, source.loginTimeout) = (0, 0, 0, 0)
    (source.places.expiresIn, source.places.expiresAt) = (nil, nil)
    if var form = source.form {
      (form.expiresIn, form.lifetime) = (nil, nil)
      source.grant = .form(form)
    }
    return source
  }
}

extension Service {
  /// The credentials of the service's rules, or of the service if it has no rules.
  package var usedGrants: Set<Int> {
    guard let rules else { if case .inject(let grant) = credential { return [grant] } else { return [] } }
    return Set(rules.compactMap { if case .forward(.inject(let grant)) = $0.action { grant } else { nil } })
  }
}
