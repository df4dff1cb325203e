internal import Policy

/// Checks that compare several parts of a configuration, such as a service and its listener.
extension SettingsReader {
  func check(_ services: [ServiceDraft], listeners: [ListenerDraft], credentials: [CredentialDraft]) {
    checkAddresses(listeners)
    checkPages(listeners)
    for listener in listeners { checkClientTokens(of: listener) }
    for credential in credentials {
      check(credential.clients, known: listeners.flatMap(\.clients), of: nil, addTo: "a listener")
    }
    checkMounts(services)
    checkStores(credentials)
    for service in services {
      checkScheme(service)
      checkJar(service, credentials)
      checkLoop(service, listeners)
      checkCallers(service.service.callers, at: service.location, listeners, service.service.listener)
      if listeners.indices.contains(service.service.listener) {
        let listener = listeners[service.service.listener]
        check(service.clients, known: listener.clients, of: listener.name, addTo: listener.admission)
      }
      for use in uses(of: service, credentials) {
        check(use, service, credentials)
        checkCallers(of: use, service, listeners, credentials)
      }
    }
    guard report.errorCount == 0 else { return }
    let used = Set(services.flatMap { uses(of: $0, credentials).map(\.index) })
    for (index, credential) in credentials.enumerated() where !used.contains(index) && credential.parts.isEmpty {
      report.warning(credential.location, "no service uses this credential")
    }
  }

  /// A use of a credential by a service or rule.
  private struct Use {
    var index: Int
    let location: TextLocation
    let headers: HeaderPolicy
    let headersLocation: TextLocation
    /// `false` if a rule inherits the credential from its service.
    let isNamedHere: Bool
  }

  /// Returns the uses of credentials by a service and its rules, with one use for each part of a combined credential.
  private func uses(of draft: ServiceDraft, _ credentials: [CredentialDraft]) -> [Use] {
    uses(of: draft).flatMap { use -> [Use] in
      guard credentials.indices.contains(use.index), !credentials[use.index].parts.isEmpty else { return [use] }
      return credentials[use.index].parts.map { part in
        var use = use
        use.index = part
        return use
      }
    }
  }

  private func uses(of draft: ServiceDraft) -> [Use] {
    var uses: [Use] = []
    if case .inject(let index) = draft.service.credential {
      uses.append(
        Use(
          index: index, location: draft.credentialLocation ?? draft.location, headers: draft.service.headers,
          headersLocation: draft.headersLocation, isNamedHere: true))
    }
    for (rule, locations) in zip(draft.service.rules ?? [], draft.rules) {
      guard case .forward(.inject(let index)) = rule.action else { continue }
      let isNew = rule.headers != draft.service.headers || locations.credential != nil
      guard isNew else { continue }
      uses.append(
        Use(
          index: index, location: locations.credential ?? draft.credentialLocation ?? draft.location,
          headers: rule.headers,
          headersLocation: rule.headers == draft.service.headers ? draft.headersLocation : locations.headers,
          isNamedHere: locations.credential != nil))
    }
    return uses
  }

  private func check(_ use: Use, _ draft: ServiceDraft, _ credentials: [CredentialDraft]) {
    guard credentials.indices.contains(use.index) else { return }
    let credential = credentials[use.index]
    let origin = draft.service.upstream.origin
    if use.isNamedHere {
      switch origin.scheme {
      case .http:
        report.error(
          use.location, "bearerd does not send credentials over plain http, where others could read them",
          help: "write upstream: https://…, or credential: none")
      case .https where !credential.origins.isEmpty && !credential.origins.contains(origin):
        report.error(
          use.location,
          "credential \"\(credential.name)\" is not allowed to go to \(origin), the upstream on \(report.line(draft.upstreamLocation, seenFrom: use.location))",
          help:
            "\(report.line(credential.originsLocation, seenFrom: use.location)) lists the allowed origins. If \(origin) is right, add it there"
        )
      case .https: break
      }
    }
    let own = Set(credential.fieldNames.map { FieldRules.normalized($0) })
    if let setting = use.headers.set.first(where: { own.contains(FieldRules.normalized($0.name)) }) {
      report.error(
        use.headersLocation, "\"\(setting.name)\" is set both here and by credential \"\(credential.name)\"",
        help: "delete one of the two")
    }
    if own.isEmpty, credential.scheme?.parameterNames.isEmpty == false, use.headers.onClientHeader != .replace {
      report.error(
        use.headersLocation,
        "\"on_client_header\" is not allowed with credential \"\(credential.name)\", which sets a query parameter: bearerd always removes the caller's own parameter",
        help: "delete on_client_header here")
    }
    if let name = use.headers.allowClientHeaders.first(where: { own.contains($0) }) {
      report.error(
        use.headersLocation,
        "the request would have \"\(name)\" twice: allow_client_headers lets the caller's field pass, and credential \"\(credential.name)\" adds its own",
        help:
          "delete \(name) from allow_client_headers. To prefer the caller's own field, write on_client_header: keep instead"
      )
    }
  }

  private func checkScheme(_ draft: ServiceDraft) {
    let origin = draft.service.upstream.origin
    switch origin.scheme {
    case .https: return
    case .http: break
    }
    if case .address(let address) = origin.host, address.isLoopback {
    } else {
      let help = origin.host.isLocal ? "write http://127.0.0.1:\(origin.port)" : "write https://"
      report.error(
        draft.upstreamLocation,
        "plain http to \(origin.host) is not allowed: expected https, or a loopback address like 127.0.0.1",
        help: help)
    }
    for location in [draft.pinsLocation, draft.trustLocation] {
      if let location {
        report.error(location, "this key needs an https upstream: plain http has no certificate to verify")
      }
    }
  }

  private func checkLoop(_ draft: ServiceDraft, _ listeners: [ListenerDraft]) {
    let origin = draft.service.upstream.origin
    let own = listeners.first {
      $0.addresses.contains { $0.address.receivesConnections(to: origin.host, port: origin.port) }
    }
    if let own {
      report.error(
        draft.upstreamLocation, "this upstream is bearerd's own listener \"\(own.name)\": requests would loop")
    }
  }

  /// Warns about callers that the service allows, but its listener does not admit.
  private func checkCallers(_ callers: Callers?, at location: TextLocation, _ listeners: [ListenerDraft], _ index: Int)
  {
    guard let uids = callers?.uids, listeners.indices.contains(index) else { return }
    if !listeners[index].addresses.map(\.address).admitLocalUsers {
      return report.warning(
        location,
        "callers of listener \"\(listeners[index].name)\" are not users of this machine, so allow_users admits none of them",
        help: "name clients in allow_clients instead")
    }
    let notAdmitted = uids.subtracting(listeners[index].callers.uids ?? []).sorted()
    guard let first = notAdmitted.first else { return }
    report.warning(
      location, "uid \(first) may use this service, but listener \"\(listeners[index].name)\" does not admit this user",
      help: "add the user to allow_users of the listener. A service can only shorten the listener's list")
  }

  /// Warns if no caller of the service may use the credential.
  private func checkCallers(
    of use: Use, _ draft: ServiceDraft, _ listeners: [ListenerDraft], _ credentials: [CredentialDraft]
  ) {
    guard use.isNamedHere, credentials.indices.contains(use.index), listeners.indices.contains(draft.service.listener)
    else { return }
    let credential = credentials[use.index]
    let listener = listeners[draft.service.listener]
    let uids = draft.service.callers?.uids ?? listener.callers.uids ?? []
    let clients = draft.service.callers?.clients ?? Set(listener.clients.map(\.name))
    let message = "no caller may use both this service and credential \"\(credential.name)\""
    if let own = credential.callers?.uids, own.isDisjoint(with: uids) {
      report.warning(
        use.location, message,
        help: "compare allow_users here and on \(report.line(credential.location, seenFrom: use.location))")
    }
    if let own = credential.callers?.clients, own.isDisjoint(with: clients) {
      report.warning(
        use.location, message,
        help:
          "add a client that may use this service to allow_clients on \(report.line(credential.location, seenFrom: use.location))"
      )
    }
  }

  private static let maxAddresses = 1024

  private func checkAddresses(_ listeners: [ListenerDraft]) {
    let all = listeners.flatMap(\.addresses)
    guard all.count <= Self.maxAddresses else {
      return report.error(
        .wholeFile, "\(all.count) addresses to listen on are too many: at most \(Self.maxAddresses) are allowed")
    }
    for (index, entry) in all.enumerated() {
      guard let other = all[..<index].first(where: { $0.address.collides(with: entry.address) }) else { continue }
      let line =
        other.location.line > 0
        ? "on \(report.line(other.location, seenFrom: entry.location))" : "by the default listener main"
      report.error(entry.location, "this address is already used \(line)")
    }
  }

  private func checkMounts(_ services: [ServiceDraft]) {
    var mounts: [String: ServiceDraft] = [:]
    for one in services {
      let key = "\(one.service.listener) \(one.service.mount.text)"
      if let other = mounts[key] {
        report.error(
          one.mountLocation,
          "service \"\(other.service.name)\" (\(report.line(other.location, seenFrom: one.mountLocation))) already has this path or host name",
          help: "choose another one, for example at: /\(one.service.name)/")
      } else {
        mounts[key] = one
      }
    }
  }
}

extension Mount {
  fileprivate var text: String {
    switch self {
    case .path(let path): String(decoding: path, as: UTF8.self)
    case .host(let host): host
    case .whole: "*"
    }
  }
}
