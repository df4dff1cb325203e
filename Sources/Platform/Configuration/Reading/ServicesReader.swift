internal import Policy
internal import Settings

struct ServicesReader: SectionReader {
  let context: ReadingContext
  let listeners: [ListenerDraft]
  let credentials: CredentialChoiceReader
  /// The timeouts of the whole configuration.
  let timeouts: Timeouts

  func services(_ top: Fields<TopKey>) -> [ServiceDraft] {
    guard let node = top[.services] else {
      if top.has(.include) {
        report.warning(
          top.location(of: .include), "there are no services yet: every request gets 404",
          help: "\"bearerctl add openai\" adds one. \"bearerctl add\" lists the providers that it knows")
        return []
      }
      report.error(
        top.location, "there are no services",
        help: "add:\nservices:\n  NAME: { upstream: https://HOST/, credential: NAME }")
      return []
    }
    if node.isEmptyMapping { report.warning(node.location, "there are no services: every request gets 404") }
    return named(node, "a service").compactMap { service($0) }
  }

  private func service(_ named: Named) -> ServiceDraft? {
    guard let fields = fields(named.value, at: named.location, of: ServiceKey.self) else { return nil }
    let at = MountReader(context: context).at(fields, named.name)
    let listener = listener(fields)
    let credential = fields[.credential].flatMap { credentials.choice($0) }
    let headers = HeaderPolicyReader(context: context, fields: fields).policy(over: HeaderPolicy())
    let rulesReader = RulesReader(context: context, credentials: credentials)
    let rules = rulesReader.rules(fields, headers, credential ?? .none)
    let upstream = upstream(fields)
    let trust = TrustReader(context: context, fields: fields).trust(for: upstream?.origin.host)
    let timeouts = LimitsReader(context: context).timeouts(.timeouts, of: fields, over: self.timeouts)
    let clients = fields[.allowClients].map { ClientsReader(context: context).clientReferences($0) }
    let callers = CallersReader(context: context).callers(
      users: fields[.allowUsers], groups: fields[.allowGroups], clients: clients)
    var options = ServiceOptions()
    read(fields, into: &options)
    let rate = fields[.rate].flatMap { RateReader(context: context).rate($0) }
    let upgrades = fields[.upgrades].map { self.upgrades($0) }
    let retry = self.retry(fields, timeouts, rules?.map(\.rule) ?? [])
    guard let upstream, let at, let listener else { return nil }
    if upstream.origin.scheme == .http, options.probe != nil {
      report.error(
        fields.location(of: .probe), "a probe needs https: it makes a TLS handshake", help: "delete the line")
    }
    if options.dedicatedConnections, options.serviceProtocol == .http2 {
      report.error(
        fields.location(of: .serviceProtocol),
        "\"dedicated_connections\" needs HTTP/1.1: logins by NTLM and Negotiate do not work with HTTP/2",
        help: "write protocol: auto, or delete dedicated_connections")
    }
    rulesReader.checkAsterisks(rules ?? [], at: at.mount)

    var service = Service(
      name: named.name, listener: listener, mount: at.mount, upstream: upstream, credential: credential ?? .none)
    service.trust = trust
    service.rules = rules?.map(\.rule)
    service.callers = callers
    service.headers = headers
    service.timeouts = timeouts
    service.options = options
    if case .own(let rate) = rate { service.rate = rate }
    service.upgrades = upgrades ?? service.upgrades
    service.retry = retry
    return ServiceDraft(
      service: service, fields: fields,
      cookiesLocation: fields.has(.credential) && credential == nil ? nil : fields[.cookies]?.location,
      ownAddress: at.ownAddress, rules: rules?.map(\.fields) ?? [], clients: clients ?? [])
  }

  /// Returns the index of the listener that the service uses.
  private func listener(_ fields: Fields<ServiceKey>) -> Int? {
    guard let node = fields[.listener] else {
      if let main = listeners.firstIndex(where: { $0.name == "main" }) { return main }
      if listeners.count > 1 {
        report.error(
          fields.location,
          "the service does not name its listener: there are \(listeners.count) listeners, and none is named main",
          help: "add listener: \(listeners[0].name)")
      }
      return listeners.count == 1 ? 0 : nil
    }
    guard let name = text(node, "the name of a listener") else { return nil }
    if let index = listeners.firstIndex(where: { $0.name == name }) { return index }
    return report.error(
      node.location, "listener \(quoted(name)) not found",
      help: known(listeners.map(\.name), nearest: name, "listeners"))
  }

  private func upstream(_ fields: Fields<ServiceKey>) -> Upstream? {
    let allowed = TrustReader(context: context, fields: fields).allowedAddresses()
    let node = required(.upstream, of: fields, "the service has no upstream", help: "add upstream: https://HOST/")
    var upstream = node.flatMap { url($0, "a URL like https://api.example.com/v1/", Upstream.init(parsing:)) }
    upstream?.allowedAddresses = allowed
    guard let node = fields[.serverName] else { return upstream }
    // Later checks would report the wrong origin for a service without its name.
    guard let name = ServerNameReader(context: context).name(node) else { return nil }
    // A later check reports the key for plain http.
    if upstream?.origin.scheme == .https { upstream?.setServerName(name) }
    return upstream
  }

  private func retry(
    _ fields: Fields<ServiceKey>, _ timeouts: Timeouts, _ rules: [Rule]
  ) -> RetryPolicy? {
    guard let retryFields = section(.retry, of: fields, as: RetryKey.self) else { return nil }
    let policy = RetryReader(context: context, fields: retryFields).policy(total: timeouts.total)
    let forwarding = rules.filter { if case .forward = $0.action { true } else { false } }
    if !forwarding.isEmpty, !forwarding.contains(where: { $0.methods.includesIdempotent }) {
      report.warning(
        fields.location(of: .retry),
        "no rule allows GET, HEAD, OPTIONS, PUT or DELETE, so bearerd repeats only requests for which it could not "
          + "open a connection",
        help: "other methods may act twice if they are sent twice. If that is what you want, leave \"retry\" as it is")
    }
    return policy
  }

  private func upgrades(_ node: YAMLNode) -> [UpgradeProtocol] {
    var upgrades: [UpgradeProtocol] = []
    for node in list(node, of: "protocols like websocket") ?? [] {
      guard let upgrade = parsed(node, "a protocol like websocket", UpgradeProtocol.init(parsing:)) else { continue }
      if upgrades.contains(upgrade) {
        report.error(node.location, "\(quoted(node.text ?? "")) is listed twice")
      } else {
        upgrades.append(upgrade)
      }
    }
    return upgrades
  }
}
