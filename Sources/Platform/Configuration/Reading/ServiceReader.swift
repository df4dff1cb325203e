internal import Policy
internal import Settings

/// A service as it was read, with locations for messages.
struct ServiceDraft {
  var service: Service
  let location: TextLocation
  let upstreamLocation: TextLocation
  let mountLocation: TextLocation
  /// The location of the value of `credential`, or `nil` if the key is not present.
  let credentialLocation: TextLocation?
  /// The location of the service's header keys, or else of its name.
  let headersLocation: TextLocation
  let pinsLocation: TextLocation?
  let trustLocation: TextLocation?
  let redactLocation: TextLocation?
  /// The location of the value of `cookies`, or `nil` if the key is not present.
  let cookiesLocation: TextLocation?
  /// The address of a service with its own port, otherwise `nil`.
  let ownAddress: ListenerSettings.Address?
  let rules: [RuleLocations]
  let clients: [ClientReference]
}

extension SettingsReader {
  func services(_ top: Fields<TopKey>, _ surrounding: SurroundingSettings) -> [ServiceDraft] {
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
    return named(node, "a service").compactMap { service($0, surrounding) }
  }

  private func service(_ named: Named, _ surrounding: SurroundingSettings) -> ServiceDraft? {
    guard let fields = fields(named.value, at: named.location, of: ServiceKey.self) else { return nil }
    let at = self.at(fields, named.name)
    let listener = listener(fields, among: surrounding.listeners)
    let credential = fields[.credential].flatMap { choice($0, among: surrounding.credentials) }
    let headers = headers(
      HeaderKeys(
        set: fields[.setHeaders], remove: fields[.removeHeaders], removeParameters: fields[.removeParameters],
        allow: fields[.allowClientHeaders], onClient: fields[.onClientHeader]), over: HeaderPolicy())
    let rules = self.rules(fields, headers, credential ?? .none, surrounding)
    let trust = trust(fields)
    let timeouts = fields[.timeouts].map {
      self.timeouts($0, at: fields.location(of: .timeouts), over: surrounding.timeouts)
    }
    let clients = fields[.allowClients].map { clientReferences($0) }
    let callers = callers(users: fields[.allowUsers], groups: fields[.allowGroups], clients: clients)
    var options = ServiceOptions()
    read(fields, into: &options)
    let rate = fields[.rate].flatMap { self.rate($0) }
    let upgrades = fields[.upgrades].map { self.upgrades($0) }
    guard let upstream = upstream(fields), let at, let listener else { return nil }
    checkAsterisks(rules ?? [], at: at.mount)

    var service = Service(
      name: named.name, listener: listener, mount: at.mount, upstream: upstream, credential: credential ?? .none)
    service.trust = trust
    service.rules = rules?.map(\.rule)
    service.callers = callers
    service.headers = headers
    service.timeouts = timeouts ?? surrounding.timeouts
    service.options = options
    if case .own(let rate) = rate { service.rate = rate }
    service.upgrades = upgrades ?? service.upgrades
    let headersKey: ServiceKey = fields.has(.setHeaders) ? .setHeaders : .allowClientHeaders
    return ServiceDraft(
      service: service, location: named.location, upstreamLocation: fields[.upstream]?.location ?? named.location,
      mountLocation: fields[.at]?.location ?? named.location, credentialLocation: fields[.credential]?.location,
      headersLocation: fields.location(of: headersKey),
      pinsLocation: fields.has(.pins) ? fields.location(of: .pins) : nil,
      trustLocation: fields.has(.caFile) ? fields.location(of: .caFile) : nil,
      redactLocation: fields[.redact]?.location,
      cookiesLocation: fields.has(.credential) && credential == nil ? nil : fields[.cookies]?.location,
      ownAddress: at.ownAddress,
      rules: rules?.map(\.locations) ?? [], clients: clients ?? [])
  }

  /// Returns the index of the listener that the service uses.
  private func listener(_ fields: Fields<ServiceKey>, among listeners: [ListenerDraft]) -> Int? {
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
    report.error(
      node.location, "listener \(quoted(name)) not found",
      help: known(listeners.map(\.name), nearest: name, "listeners"))
    return nil
  }

  /// Reads the name of a credential, a list of names, `none` or `pass`.
  func choice(_ node: YAMLNode, among credentials: [CredentialDraft]) -> CredentialChoice? {
    if case .sequence(let nodes) = node.content { return choice(nodes, at: node.location, among: credentials) }
    guard let name = text(node, "the name of a credential, none or pass") else { return nil }
    switch name {
    case "none": return CredentialChoice.none
    case "pass": return .pass
    default: break
    }
    if let index = credentials.firstIndex(where: { $0.name == name }) { return .inject(index) }
    // The message repeats only text that is similar to a name. Other text may be a token.
    let names = credentials.map(\.name) + ["none", "pass"]
    let isNear = Suggestion.nearest(to: name, in: names) != nil
    report.error(
      node.location, isNear ? "credential \(quoted(name)) not found" : "no credential has this name",
      help: known(names, nearest: name, "credentials"))
    return nil
  }

  private func known(_ names: [String], nearest name: String, _ kind: String) -> String {
    if let nearest = Suggestion.nearest(to: name, in: names) { return "did you mean \"\(nearest)\"?" }
    return "known \(kind): \(names.prefix(20).joined(separator: ", "))"
  }

  private func upstream(_ fields: Fields<ServiceKey>) -> Upstream? {
    let allowed = allowedAddresses(fields)
    guard let node = fields[.upstream] else {
      missing(.upstream, in: fields, "the service has no upstream", help: "add upstream: https://HOST/")
      return nil
    }
    guard let text = text(node, "a URL like https://api.example.com/v1/"), checkURL(text, at: node.location) else {
      return nil
    }
    do throws(PolicySyntaxError) {
      var upstream = try Upstream(parsing: text)
      upstream.allowedAddresses = allowed
      return upstream
    } catch {
      report.error(node.location, error.message)
      return nil
    }
  }

  private func upgrades(_ node: YAMLNode) -> [UpgradeProtocol] {
    var upgrades: [UpgradeProtocol] = []
    for node in list(node, of: "protocols like websocket") ?? [] {
      guard let text = text(node, "a protocol like websocket") else { continue }
      do throws(PolicySyntaxError) {
        let upgrade = try UpgradeProtocol(parsing: text)
        if upgrades.contains(upgrade) {
          report.error(node.location, "\(quoted(text)) is listed twice")
        } else {
          upgrades.append(upgrade)
        }
      } catch {
        report.error(node.location, error.message)
      }
    }
    return upgrades
  }
}
