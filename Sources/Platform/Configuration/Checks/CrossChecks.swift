internal import Policy
internal import Settings

/// Checks that compare several parts of a configuration, such as a service and its listener.
struct CrossChecks: SectionReader {
  let context: ReadingContext
  let listeners: [ListenerDraft]
  let credentials: [CredentialDraft]

  func check(_ services: [ServiceDraft]) {
    ListenerChecks(context: context, listeners: listeners).check()
    for credential in credentials {
      check(credential.clients, known: listeners.flatMap(\.clients), of: nil, addTo: "a listener")
    }
    checkMounts(services)
    checkStores()
    for service in services {
      checkScheme(service)
      JarChecks(context: context, credentials: credentials).check(service)
      checkLoop(service)
      if listeners.indices.contains(service.service.listener) {
        let listener = listeners[service.service.listener]
        checkCallers(service.service.callers, at: service.location, listener)
        check(service.clients, known: listener.clients, of: listener.name, addTo: listener.admission)
      }
      for use in uses(of: service) where credentials.indices.contains(use.index) {
        check(use, service)
        checkCallers(of: use, service)
      }
    }
    guard report.errorCount == 0 else { return }
    let used = Set(services.flatMap { uses(of: $0).map(\.index) })
    let bases = Set(credentials.compactMap { $0.scheme?.token?.basis?.credential })
    for (index, credential) in credentials.enumerated()
    where !used.contains(index) && credential.parts.isEmpty && !bases.contains(credential.name) {
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
  private func uses(of draft: ServiceDraft) -> [Use] {
    choices(of: draft).flatMap { use -> [Use] in
      guard credentials.indices.contains(use.index), !credentials[use.index].parts.isEmpty else { return [use] }
      return credentials[use.index].parts.map { part in
        var use = use
        use.index = part
        return use
      }
    }
  }

  private func choices(of draft: ServiceDraft) -> [Use] {
    var uses: [Use] = []
    if case .inject(let index) = draft.service.credential {
      uses.append(
        Use(
          index: index, location: draft.fields.valueLocation(of: .credential), headers: draft.service.headers,
          headersLocation: draft.fields.headersLocation, isNamedHere: true))
    }
    for (rule, fields) in zip(draft.service.rules ?? [], draft.rules) {
      guard case .forward(.inject(let index)) = rule.action else { continue }
      let hasHeaders = rule.headers != draft.service.headers
      guard hasHeaders || fields.has(.credential) else { continue }
      uses.append(
        Use(
          index: index, location: fields[.credential]?.location ?? draft.fields.valueLocation(of: .credential),
          headers: rule.headers,
          headersLocation: hasHeaders ? fields.headersLocation : draft.fields.headersLocation,
          isNamedHere: fields.has(.credential)))
    }
    return uses
  }

  private func check(_ use: Use, _ draft: ServiceDraft) {
    let credential = credentials[use.index]
    let origin = draft.service.upstream.origin
    if use.isNamedHere {
      if origin.scheme == .http {
        report.error(
          use.location, "bearerd does not send credentials over plain http, where others could read them",
          help: "write upstream: https://…, or credential: none")
      } else if !credential.origins.isEmpty, !credential.origins.contains(origin) {
        reportOrigin(of: use, credential, draft)
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

  /// Reports that the credential is not allowed to go to the origin of the service.
  private func reportOrigin(of use: Use, _ credential: CredentialDraft, _ draft: ServiceDraft) {
    let upstream = draft.service.upstream
    let origin = upstream.origin
    let list = report.line(credential.originsLocation, seenFrom: use.location)
    let isNamed = draft.fields.has(.serverName)
    let line = report.line(
      draft.fields.valueLocation(of: isNamed ? .serverName : .upstream), seenFrom: use.location)
    let place = isNamed ? "the server_name on \(line) with the port of upstream" : "the upstream on \(line)"
    let help =
      isNamed && credential.origins.contains(upstream.dialedOrigin)
      ? "\(list) lists \(upstream.dialedOrigin), to which bearerd only connects. If \(origin) is right, write it there instead"
      : "\(list) lists the allowed origins. If \(origin) is right, add it there"
    report.error(
      use.location, "credential \"\(credential.name)\" is not allowed to go to \(origin), \(place)", help: help)
  }

  private func checkScheme(_ draft: ServiceDraft) {
    let origin = draft.service.upstream.origin
    guard origin.scheme == .http else { return }
    if case .address(let address) = origin.host, address.isLoopback {
    } else {
      report.error(
        draft.fields.valueLocation(of: .upstream),
        "plain http to \(origin.host) is not allowed: expected https, or a loopback address like 127.0.0.1",
        help: origin.host.isLocal ? "write http://127.0.0.1:\(origin.port)" : "write https://")
    }
    for key in [ServiceKey.serverName, .pins, .caFile, .revocation] where draft.fields.has(key) {
      report.error(
        draft.fields.location(of: key), "this key needs an https upstream: plain http has no certificate to verify")
    }
  }

  private func checkLoop(_ draft: ServiceDraft) {
    let origin = draft.service.upstream.dialedOrigin
    let own = listeners.first {
      $0.addresses.contains { $0.address.receivesConnections(to: origin.host, port: origin.port) }
    }
    if let own {
      report.error(
        draft.fields.valueLocation(of: .upstream),
        "this upstream is bearerd's own listener \"\(own.name)\": requests would loop")
    }
  }

  /// Warns about callers that the service allows, but its listener does not admit.
  private func checkCallers(_ callers: Callers?, at location: TextLocation, _ listener: ListenerDraft) {
    guard let uids = callers?.uids else { return }
    if !listener.addresses.map(\.address).admitLocalUsers {
      return report.warning(
        location,
        "callers of listener \"\(listener.name)\" are not users of this machine, so allow_users admits none of them",
        help: "name clients in allow_clients instead")
    }
    let notAdmitted = uids.subtracting(listener.callers.uids ?? []).sorted()
    guard let first = notAdmitted.first else { return }
    report.warning(
      location, "uid \(first) may use this service, but listener \"\(listener.name)\" does not admit this user",
      help: "add the user to allow_users of the listener. A service can only shorten the listener's list")
  }

  /// Warns if no caller of the service may use the credential.
  private func checkCallers(of use: Use, _ draft: ServiceDraft) {
    guard use.isNamedHere, listeners.indices.contains(draft.service.listener) else { return }
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

  private func checkMounts(_ services: [ServiceDraft]) {
    var mounts: [String: ServiceDraft] = [:]
    for one in services {
      let location = one.fields.valueLocation(of: .at)
      let key = "\(one.service.listener) \(one.service.mountPoint)"
      if let other = mounts[key] {
        report.error(
          location,
          "service \"\(other.service.name)\" (\(report.line(other.location, seenFrom: location))) already has this path or host name",
          help: "choose another one, for example at: /\(one.service.name)/")
      } else {
        mounts[key] = one
      }
    }
  }

  /// Reports names in `allow_clients` that are not in `known`.
  /// - Parameters:
  ///   - known: The clients of `listener`, or of all listeners if `listener` is `nil`.
  ///   - home: The section to which the user should add a missing client.
  private func check(
    _ references: [ClientReference], known: [Client], of listener: String?, addTo home: String
  ) {
    for reference in references where !known.contains(where: { $0.name == reference.name }) {
      // The message shows only a similar name, because the text may be the token itself.
      let message =
        listener.map { "listener \"\($0)\" has no \(known.isEmpty ? "clients" : "client with this name")" }
        ?? "no listener has \(known.isEmpty ? "clients" : "a client with this name")"
      let help =
        known.isEmpty
        ? "\"bearerctl token NAME\" creates a token and prints the line to add to \(home)"
        : self.known(known.map(\.name), nearest: reference.name, "clients")
      report.error(reference.location, message, help: help)
    }
  }

  /// Reports files that two credentials use as `store`, or that are also the source of a secret.
  private func checkStores() {
    var stores: [String: CredentialDraft] = [:]
    let sources = Set(credentials.flatMap { $0.settings?.sources ?? [] }.filter(\.isFile).map(\.name))
    for credential in credentials {
      guard case .bearer(.token(let token)) = credential.scheme, let store = token.store else { continue }
      if let other = stores[store] {
        report.error(
          credential.location,
          "\(store) is already the store of credential \"\(other.name)\" (\(report.line(other.location, seenFrom: credential.location)))",
          help: "choose another store for this credential")
      } else if sources.contains(store) {
        report.error(
          credential.location, "\(store) is the source of a secret, and the stored login would overwrite it",
          help: "choose another file for the store")
      }
      stores[store] = credential
    }
  }
}
