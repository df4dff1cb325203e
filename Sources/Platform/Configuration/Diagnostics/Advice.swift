internal import Policy
internal import Primitives
internal import Settings

/// Advice for a valid configuration: security improvements, and settings without effect.
struct Advice: SectionReader {
  let context: ReadingContext

  func check(_ rules: RuleSet, of services: [ServiceDraft]) {
    for shadowed in rules.shadowedRules() {
      guard services.indices.contains(shadowed.service) else { continue }
      let draft = services[shadowed.service]
      let locations = draft.rules
      guard locations.indices.contains(shadowed.rule) else { continue }
      let rules = draft.service.rules ?? []
      var lines: [String] = []
      for index in shadowed.by where rules.indices.contains(index) && !lines.contains("\(rules[index].line)") {
        lines.append("\(rules[index].line)")
      }
      let which = lines.count == 1 ? "the rule on line" : "the rules on lines"
      let decides = lines.count == 1 ? "decides" : "decide"
      let byCase =
        shadowed.isByCase
        ? "\(which) \(listed(lines)) \(lines.count == 1 ? "ignores" : "ignore") letter case, because of deny: true. If this upstream distinguishes letter case, add case: exact there"
        : "move this rule up, or delete it: the first rule that matches decides"
      report.warning(
        locations[shadowed.rule].valueLocation(of: .match),
        "this rule never decides a request. For example, \(which) \(listed(lines)) \(decides) \(shadowed.witnessMethod) \(shadowed.witnessPath)",
        help: byCase)
    }
    adviseOnCase(rules, of: services)
  }

  private func adviseOnCase(_ rules: RuleSet, of services: [ServiceDraft]) {
    for pair in rules.caseVariantRules() {
      guard services.indices.contains(pair.service), let all = services[pair.service].service.rules,
        services[pair.service].rules.indices.contains(pair.rule), all.indices.contains(pair.other)
      else { continue }
      report.advice(
        services[pair.service].rules[pair.rule].valueLocation(of: .match),
        "this rule and the rule on line \(all[pair.other].line) differ only in letter case, which some upstreams ignore",
        help:
          "move the deny rule before the other rule, and delete its case: exact. Or let both rules allow, or both deny")
    }
  }

  /// Warns about listeners that no service uses.
  /// - Parameter used: The indices of the listeners that services name.
  func check(_ listeners: [ListenerDraft], used: Set<Int>) {
    for (index, listener) in listeners.enumerated() where !used.contains(index) {
      report.warning(
        listener.location, "no service uses this listener: every request to it gets 404",
        help: "add listener: \(listener.name) to a service, or delete the listener")
    }
  }

  func advise(listeners: [ListenerDraft], credentials: [CredentialDraft], services: [ServiceDraft]) {
    for listener in listeners where !listener.namesCallers { advise(listener) }
    for listener in listeners {
      guard let (_, location) = listener.addresses.first(where: { [$0.address].areReachableByOthers }) else { continue }
      report.advice(
        location, "client tokens, requests and responses cross this network in plain text",
        help: "use a network inside this machine, such as a container network, or an encrypted network")
    }
    for credential in credentials {
      if let location = credential.environmentLocation {
        report.advice(
          location, "every program of the same user can read the daemon's environment",
          help: "use a file or systemd instead, for example { file: \(credential.name).secret }")
      }
      adviseOnEndpoint(credential)
      adviseOnBareAuthorization(credential)
    }
    for service in services { advise(service) }
  }

  /// Advises on an `Authorization` value without a scheme before the secret (RFC 9110 §11.6.2).
  private func adviseOnBareAuthorization(_ credential: CredentialDraft) {
    guard case .headers(let headers) = credential.scheme else { return }
    for header in headers where FieldRules.normalized(header.name) == "authorization" {
      guard case .secret = header.value, !header.prefix.contains(" ") else { continue }
      report.advice(
        credential.location,
        "credential \"\(credential.name)\" sends Authorization without a scheme like Bearer before the secret",
        help:
          "write bearer: instead of headers:, or add prefix: \"Bearer \". If the secret itself begins with the scheme, ignore this advice"
      )
    }
  }

  /// Advises to add pins for a token or login endpoint.
  private func adviseOnEndpoint(_ credential: CredentialDraft) {
    let (key, origin, trust): (String, Origin, TrustPolicy)
    switch credential.scheme {
    case .bearer(.token(let token)) where token.form == nil:
      (key, origin, trust) = ("oauth2", token.endpoint.origin, token.trust)
    case .oauth1(let client) where credential.scheme?.token?.oauth1 != nil:
      guard case .token(let token) = client.token else { return }
      (key, origin, trust) = ("oauth1", token.endpoint.origin, token.trust)
    case .registry(.some, let registry):
      (key, origin, trust) = ("registry", registry.endpoint.origin, registry.trust)
    case .bearer, .basic, .headers, .digest, .registry, .query, .oauth1, .all, nil:
      guard let login = credential.scheme?.login else { return }
      (key, origin, trust) = ("login", login.endpoint.origin, login.trust)
    }
    guard isUnpinned(origin, trust) else { return }
    report.advice(
      credential.location,
      "credential \"\(credential.name)\" has no pins for \"\(origin.host)\": \(authority(trust)) could issue a certificate for this host, and the holder of that certificate could get the secrets",
      help: pinning(Upstream(origin, allowedAddresses: []), trust, under: key))
  }

  /// Whether a server has no pins, and is not excluded from a pin policy.
  private func isUnpinned(_ origin: Origin, _ trust: TrustPolicy) -> Bool {
    trust.pinning.pins.isEmpty && context.pinPolicies.entry(for: origin.host) == nil
  }

  private func authority(_ trust: TrustPolicy) -> String {
    trust.caFile.map { "any authority in \($0)" } ?? "any public authority"
  }

  private func pinning(_ upstream: Upstream, _ trust: TrustPolicy, under key: String? = nil) -> String {
    let host = upstream.dialedOrigin.authority
    let name = upstream.dialHost == nil ? "" : " --server-name \(upstream.origin.host)"
    let option = name + (trust.caFile.map { " --ca-file \(ShellWord.quoted($0))" } ?? "")
    let section = key.map { "under \($0) " } ?? ""
    return
      "if the server's operator announces new TLS keys in advance, pin the keys: run \"bearerctl pin \(host)\(option)\", and \(section)add the line that it prints, like pins: [sha256/…, sha256/…]"
  }

  private func advise(_ listener: ListenerDraft) {
    let uids = (listener.callers.uids ?? []).sorted().map(String.init).joined(separator: ", ")
    let message =
      "listener \"\(listener.name)\" does not say who may use it. By default, only the daemon's own user (uid \(uids)) may use it"
    if listener.location.line > 0 {
      report.advice(listener.location, message, help: "add allow_users: [\(uids)]")
    } else {
      report.advice(
        .wholeFile, message, help: "add:\nlisteners:\n  main: { address: localhost:7070, allow_users: [\(uids)] }")
    }
  }

  /// Advises on a `redact` key that has no effect, or cannot find every secret.
  private func adviseOnRedaction(_ draft: ServiceDraft) {
    guard let location = draft.fields[.redact]?.location, draft.service.options.redact != .off else { return }
    if draft.service.injectedGrants.isEmpty {
      report.advice(
        location, "\"redact\" has no effect: service \"\(draft.service.name)\" adds no credential to any request",
        help: "delete \"redact\", or name a credential")
    } else if draft.service.options.redact == .all,
      let other = draft.service.upgrades.first(where: { $0.text.lowercased() != "websocket" })
    {
      report.advice(
        location,
        "after an upgrade to \(other.text), bearerd cannot find a secret that is compressed or encoded",
        help: "if no caller needs \(other.text), remove it from upgrades")
    }
  }

  /// Advises on services that get each other's cookies.
  func adviseOnCookies(_ services: [ServiceDraft], listeners: [ListenerDraft]) {
    // Clients store cookies by host and path, not by port (RFC 6265 section 8.5).
    let passing = services.filter { draft in
      draft.service.options.cookies == .pass
        && listeners[draft.service.listener].addresses.contains { !$0.address.isUnix }
    }
    for (index, draft) in passing.enumerated() {
      guard let base = draft.service.mount.onLocalhost else { continue }
      let other = passing[..<index].first { other in
        other.service.mount.onLocalhost.map { $0.starts(with: base) || base.starts(with: $0) } ?? false
      }
      guard let other else { continue }
      report.advice(
        draft.location,
        "services \"\(other.service.name)\" and \"\(draft.service.name)\" get each other's cookies: both pass cookies on (\"cookies: pass\"), and cookies of localhost are valid for all its ports",
        help: "give one of the services its own host name: at: \(draft.service.name).localhost")
    }
  }

  private func advise(_ draft: ServiceDraft) {
    adviseOnRedaction(draft)
    guard draft.fields.has(.credential) else {
      let named = draft.rules.contains { $0.has(.credential) }
      if !named {
        report.advice(
          draft.location,
          "service \"\(draft.service.name)\" names no credential: bearerd adds none, and removes any that the caller sends",
          help:
            "name a credential, or write credential: pass to let the caller send its own. If no credential is needed, write credential: none"
        )
      }
      return
    }
    guard case .inject = draft.service.credential else { return }
    let trust = draft.service.trust
    if isUnpinned(draft.service.upstream.origin, trust) {
      report.advice(
        draft.location,
        "service \"\(draft.service.name)\" has no pins: \(authority(trust)) could issue a certificate for its upstream, and the holder of that certificate could get the credential",
        help: pinning(draft.service.upstream, trust))
    }
    if draft.service.rules == nil {
      report.advice(
        draft.location,
        "service \"\(draft.service.name)\" has no rules: callers may use every method and path with the credential",
        help: "to allow reading only, add rules: [{ match: \"/**\", methods: [GET, HEAD] }]")
    }
  }
}

extension Mount {
  /// The service's path on localhost, regardless of the port. `nil` if the service has its own host name.
  fileprivate var onLocalhost: [UInt8]? {
    switch self {
    case .path(let path): path
    case .host: nil
    case .whole: Array("/".utf8)
    }
  }
}
