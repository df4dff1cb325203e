package import Configuration
package import Credentials
package import Gateway
package import Policy
package import Secrets
package import Settings
package import StatusModel
package import TLS
package import Transport

/// A loaded configuration, with everything that one worker created for it. A reload creates a new generation.
package final class Generation {
  package let settings: DaemonSettings
  package let snapshot: Snapshot
  package let keyring: Keyring
  package let tally: Tally
  package let limits: SharedLimits
  package let tables: PreparedTables
  private let breakers: [BreakerView]
  package let trust: Preparation.Trust
  /// The contexts that have been created so far, by service and rule. Index 0 is for requests without a rule.
  private var routeContexts: [[RouteContext?]]
  package private(set) var upstreamPools: [UpstreamPool] = []
  private let deferredRelease: DeferredRelease
  /// The credentials with `on_change: cut`, as indices of grants.
  package let credentialsToCut: [Int]

  package init(
    _ preparation: Preparation, snapshot: Snapshot, keyring: Keyring, tally: Tally, limits: SharedLimits,
    deferredRelease: DeferredRelease
  ) {
    settings = preparation.settings
    tables = preparation.tables
    let credentials = preparation.settings.credentials
    credentialsToCut = credentials.indices.filter { credentials[$0].cutsOnChange }
    trust = preparation.trust
    self.snapshot = snapshot
    self.keyring = keyring
    keyring.configuration = snapshot.generation
    self.tally = tally
    self.limits = limits
    self.deferredRelease = deferredRelease
    breakers = limits.breakers.map { BreakerView($0) }
    routeContexts = tables.tally.ruleCounts.map { Array(repeating: nil, count: $0 + 1) }
  }

  /// Creates the first generation of a worker.
  /// - Parameters:
  ///   - files: the contents of the secret files.
  ///   - changing: files that will be read again.
  package convenience init(
    first preparation: Preparation, files: FileValues, changing: Set<SecretSource>, snapshot: Snapshot,
    limits: SharedLimits, deferredRelease: DeferredRelease
  ) throws(StartError) {
    do throws(AuthorizationError) {
      let draft = try GenerationBuilder(preparation, files: files, after: nil)
      _ = try draft.build(pending: changing) { true }
      guard let keyring = draft.keyring.keyring else { preconditionFailure("there was time for all of it") }
      self.init(
        preparation, snapshot: snapshot, keyring: keyring, tally: Tally(draft.tally), limits: limits,
        deferredRelease: deferredRelease)
    } catch {
      throw .system(error.description)
    }
  }

  deinit { deferredRelease.add([settings, snapshot, trust, limits, tables], RetiredKeyring(keyring)) }

  package func routeContext(of route: Route) -> RouteContext {
    let row = route.rule.map { $0 &+ 1 } ?? 0
    let first = routeContexts[route.service][row]
    // Almost always the only one.
    if let first, first.route == route { return first }
    if let known = first?.first(where: { $0.route == route }) { return known }
    let made = RouteContext(
      route, generation: snapshot.generation, timeouts: snapshot.rules.services[route.service].timeouts,
      breaker: breaker(for: route),
      limiter: limits.rates.limiter(of: route), jarOrigin: jarOrigin(of: route),
      needsHTTP1: snapshot.needsHTTP1(route),
      logText: RouteContext.logText(of: route, rules: snapshot.rules),
      credentialText: RouteContext.credentialText(of: route, rules: snapshot.rules), next: first)
    routeContexts[route.service][row] = made
    return made
  }

  /// Returns the pool for a route's upstream connections.
  package func pool(of routeContext: RouteContext) throws(TLSError) -> UpstreamPool {
    if let known = routeContext.pool { return known }
    let ofService = routeContexts[routeContext.route.service].lazy.compactMap { first in
      first?.first { $0.route.credential == routeContext.route.credential && $0.pool != nil }?.pool
    }
    let made = if let known = ofService.first { known } else { try makePool(of: routeContext.route) }
    routeContext.pool = made
    return made
  }

  /// Returns the credential's breaker, or `nil` if the credential is never suspended.
  private func breaker(for route: Route) -> BreakerView? {
    guard case .inject(let grant) = route.credential else { return nil }
    return limits.breakersByService[route.service].first { $0.grant == grant }.map { breakers[$0.breaker] }
  }

  /// Returns the breaker of a credential at a service's upstream. `nil` if the credential is never suspended, or if no
  /// rule of the service uses it alone.
  package func breaker(ofGrant grant: Int, service: Int) -> OriginBreaker? {
    limits.breakersByService[service].first { $0.grant == grant }.map { limits.breakers[$0.breaker] }
  }

  /// The origin whose cookies are kept for this route. `nil` if the route has no cookie jar.
  func jarOrigin(of route: Route) -> Origin? {
    snapshot.keepsCookies(of: route) ? snapshot.rules.services[route.service].upstream.origin : nil
  }

  package func grant(named name: String) -> Int? { snapshot.rules.grants.firstIndex { $0.name == name } }

  package func listener(_ id: ListenerID) -> ListenerSettings? {
    snapshot.index(of: id).flatMap { $0 < settings.listeners.count ? settings.listeners[$0] : nil }
  }

  package var pools: [DaemonStatus.Pool] {
    DaemonStatus.Pool.sorted(
      upstreamPools.flatMap { pool in
        [ApplicationProtocol.http1, .http2].compactMap { version in
          let use = pool.use(of: version)
          guard version == pool.expectedVersion || use.idle + use.active > 0 else { return nil }
          return DaemonStatus.Pool(
            upstream: pool.upstream.origin.description, credential: pool.context?.identity.grant ?? "",
            httpVersion: version.version, idle: use.idle, active: use.active,
            streams: version == .http2 ? use.streams : nil)
        }
      })
  }

  /// The version of the last connection for requests of a service. `nil` if there was none.
  package func negotiatedVersion(ofService index: Int) -> NegotiatedVersion? {
    var version: NegotiatedVersion?
    for row in routeContexts[index] {
      var context = row
      while let known = context {
        version = .merged(version, known.pool?.negotiated)
        context = known.next
      }
    }
    return version
  }

  private func makePool(of route: Route) throws(TLSError) -> UpstreamPool {
    let service = snapshot.rules.services[route.service]
    guard service.upstream.origin.scheme == .https else {
      let made = UpstreamPool(
        upstream: service.upstream, context: nil, generation: snapshot.generation,
        plainProtocol: service.options.serviceProtocol.withoutTLS)
      upstreamPools.append(made)
      return made
    }
    let context = try identity(of: route, service)
    let shared = upstreamPools.first { $0.context?.identity == context.identity && $0.upstream == service.upstream }
    if let shared { return shared }
    // An upstream can send a new session cookie, or jar cookies, in any response.
    let grant = snapshot.rules.grant(of: route)
    let answersSecrets =
      grant.map {
        $0.cookie != nil
          || tables.jarKeys.contains(CookieJars.Key(credential: $0.name, origin: service.upstream.origin))
      } ?? false
    let made = UpstreamPool(
      upstream: service.upstream, context: try context.makeContext(cleanses: answersSecrets),
      generation: snapshot.generation, responsesAreSecret: answersSecrets)
    upstreamPools.append(made)
    return made
  }

  /// Returns a pool for one connection to a service's upstream that carries no request. `nil` for plain HTTP.
  package func makeProbePool(ofService index: Int) throws(TLSError) -> UpstreamPool? {
    let service = snapshot.rules.services[index]
    guard service.upstream.origin.scheme == .https else { return nil }
    // Not the pool of the requests, whose sessions could be resumed without another verification.
    let route = Route(service: index, rule: nil, credential: service.credential, pathStart: 0)
    let context = try identity(of: route, service).makeContext(cleanses: false)
    return UpstreamPool(upstream: service.upstream, context: context, generation: snapshot.generation)
  }

  /// Returns a pool for the connection that sends a report. `nil` if the configuration has no `reports`.
  package func makeReportPool() throws(TLSError) -> UpstreamPool? {
    guard let reports = settings.reports else { return nil }
    let origin = reports.url.origin
    let store = try trust.store(for: reports.trust)
    let identity = SessionIdentity(
      origin: origin, trust: reports.trust, trustFingerprint: store.fingerprint, grant: nil,
      generation: snapshot.generation)
    return UpstreamPool(
      upstream: Upstream(origin, allowedAddresses: reports.allowedAddresses),
      context: try ClientContext(identity: identity, store: store), generation: snapshot.generation)
  }

  /// What the TLS connections of a route share.
  private struct RouteIdentity {
    let identity: SessionIdentity
    let store: TrustStore
    let certificate: ClientCertificate?

    func makeContext(cleanses: Bool) throws(TLSError) -> ClientContext {
      try ClientContext(identity: identity, store: store, certificate: certificate, cleanses: cleanses)
    }
  }

  private func identity(of route: Route, _ service: Service) throws(TLSError) -> RouteIdentity {
    let store = try trust.store(for: service.trust)
    var certificate: ClientCertificate?
    if case .inject(let index) = route.credential {
      certificate = try trust.certificate(
        of: settings.credentials[index], snapshot.rules.grants[index], for: service.upstream.origin)
    }
    let grant = snapshot.rules.grant(of: route)
    let identity = SessionIdentity(
      origin: service.upstream.origin, trust: service.trust, trustFingerprint: store.fingerprint,
      grant: grant?.name, generation: snapshot.generation,
      certificate: certificate?.fingerprint, protocols: service.options.serviceProtocol.offered)
    return RouteIdentity(identity: identity, store: store, certificate: certificate)
  }

  /// Returns the fingerprint of a credential's client certificate. `nil` if the credential has none.
  package func certificateFingerprint(ofGrant index: Int) -> [UInt8]? {
    settings.credentials[index].certificate.flatMap { try? trust.certificate($0).fingerprint }
  }

  /// Returns the client certificate for a token endpoint (RFC 8705 section 2), or `nil` if the token source uses none.
  package func certificate(for source: TokenSource) throws(TLSError) -> ClientCertificate? {
    guard case .certificate = source.client.authentication else { return nil }
    let credential = settings.credentials.first { $0.name == source.credential }
    return try credential?.certificate.map { (wanted) throws(TLSError) in try trust.certificate(wanted) }
  }
}
