package import Credentials
package import Gateway
package import Policy
package import Settings

/// Tables that are computed from a configuration, and shared by all workers.
package struct PreparedTables: Sendable {
  let keyring: KeyringPlan
  package let secretFiles: Set<SecretSource>
  package let snapshot: Snapshot.Tables
  let tally: TallyPlan
  /// The origins to which bearerd connects, each with a service that uses it.
  package let upstreams: [(origin: Origin, service: String)]
  /// Rate limits and breakers that continue with the counts of the previous configuration. `nil` at the start.
  package let limits: SharedLimits?
  package let jarKeys: Set<CookieJars.Key>
  package let jarCredentials: Set<String>
  package let systemdCredentials: [String]

  /// The settings and limits of the configuration that is being replaced.
  package struct Former: Sendable {
    let settings: DaemonSettings
    let limits: SharedLimits

    package init(settings: DaemonSettings, limits: SharedLimits) {
      self.settings = settings
      self.limits = limits
    }
  }

  init(_ settings: DaemonSettings, after former: Former?) {
    let rules = settings.rules
    keyring = KeyringPlan(
      zip(rules.grants, settings.credentials).map { grant, credential in
        Keyring.Entry(grant: grant, scheme: credential.scheme)
      })
    secretFiles = Set(settings.credentials.flatMap(\.sources).filter(\.isFile))
    snapshot = Snapshot.Tables(rules)
    let before = former?.settings.rules
    tally = TallyPlan(
      rules, after: (before?.services.map(\.name) ?? [], before?.grants.map(\.name) ?? []))
    var known: Set<Origin> = []
    upstreams = rules.services.compactMap { service in
      let dialed = service.upstream.dialedOrigin
      return known.insert(dialed).inserted ? (dialed, service.name) : nil
    }
    limits = former.map { SharedLimits(settings, after: $0.limits, lock: $0.limits.lock) }
    jarKeys = CookieJars.Key.all(for: rules)
    jarCredentials = Set(jarKeys.map(\.credential))
    systemdCredentials =
      settings.credentials.filter { $0.sources.contains(where: \.isSystemd) && !$0.isCombined }.map(\.name)
  }
}

extension CookieJars.Key {
  /// Returns a key for each credential and origin for which these rules keep a cookie jar.
  fileprivate static func all(for rules: RuleSet) -> Set<CookieJars.Key> {
    var keys: Set<CookieJars.Key> = []
    for service in rules.services where service.options.cookies == .jar {
      for index in service.usedGrants {
        keys.insert(CookieJars.Key(credential: rules.grants[index].name, origin: service.upstream.origin))
      }
    }
    return keys
  }
}
