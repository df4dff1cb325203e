package import Configuration
package import Credentials
package import Gateway
package import Policy
package import Secrets

/// Tables that follow from a configuration alone, and all workers use: made where no client waits for them, since each takes
/// the longer the more services and credentials there are.
package struct PreparedTables: Sendable {
  let keyring: KeyringPlan
  /// The files that its secrets are in.
  package let secretFiles: Set<SecretSource>
  package let snapshot: Snapshot.Tables
  let tally: TallyPlan
  /// Each origin of an upstream, and the first service that has it.
  package let upstreams: [(origin: Origin, service: String)]
  /// nil at a start, which counts nothing on.
  package let limits: SharedLimits?
  package let jarPlaces: Set<CookieJars.Place>
  /// Credentials with a jar somewhere.
  package let jarCredentials: Set<String>
  /// Credentials that systemd has read.
  package let systemdCredentials: [String]

  /// The configuration that is in use, as far as it goes on.
  package struct Former: Sendable {
    let settings: Settings
    let limits: SharedLimits

    package init(settings: Settings, limits: SharedLimits) {
      self.settings = settings
      self.limits = limits
    }
  }

  init(_ settings: Settings, after former: Former?) {
    let rules = settings.rules
    keyring = KeyringPlan(
      zip(rules.grants, settings.credentials).map { grant, credential in
        Keyring.Entry(grant: grant, scheme: AuthScheme(credential.scheme))
      })
    secretFiles = ConfigurationLoader.secretFiles(of: settings)
    snapshot = Snapshot.Tables(rules)
    let before = former?.settings.rules
    tally = TallyPlan(
      rules, after: (before?.services.map(\.name) ?? [], before?.grants.map(\.name) ?? []))
    var known: Set<Origin> = []
    upstreams = rules.services.compactMap { service in
      known.insert(service.upstream.origin).inserted ? (service.upstream.origin, service.name) : nil
    }
    limits = former.map { SharedLimits(settings, after: $0.limits, lock: $0.limits.lock) }
    jarPlaces = CookieJars.Place.all(for: rules)
    jarCredentials = Set(jarPlaces.map(\.credential))
    systemdCredentials =
      settings.credentials.filter { $0.sources.contains(where: \.isSystemd) && !$0.isCombined }.map(\.name)
  }
}
