package import HTTP1

/// The way of a request.
package struct Route: Sendable, Equatable {
  package let service: Int
  /// nil: the service has no rules.
  package let rule: Int?
  package let credential: CredentialChoice
  /// The start, in the canonical path, of the part below the service's base: the slash that ends the mount. 0 for `*`, whose
  /// path is empty.
  package let pathStart: Int

  /// By hand, as each request is asked once: what the compiler makes up for `==` other modules find by way of a table.
  package static func == (one: Route, other: Route) -> Bool {
    one.service == other.service && one.rule == other.rule && one.credential == other.credential
      && one.pathStart == other.pathStart
  }
}

/// Why a rule was or was not taken, for `explain`.
package struct RuleVerdict: Sendable, Equatable {
  /// `pathDiffers` also where the method differs, too.
  package enum Outcome: Sendable, Equatable { case won, methodDiffers, pathDiffers, notReached }
  package let rule: Int
  package let outcome: Outcome
}

/// All services and their rules. First match decides and can say why.
package struct RuleSet: Sendable, Equatable {
  package let services: [Service]
  package let grants: [Grant]
  private let mounts: MountIndex
  private let table: RuleTable

  /// Checks nothing: `Configuration` has. Builds the index from listener and mount to service.
  package init(services: [Service], grants: [Grant]) {
    self.services = services
    self.grants = grants
    mounts = MountIndex(services)
    table = RuleTable(services)
  }

  /// The service by the request's host name or else by the longest mount; then its callers; then the first rule that
  /// matches. `/github` without the closing slash is not below `/github/`: `noService`.
  ///
  /// Judged under every reading: if the readings name different services, or are not all refused and would not all be
  /// forwarded in the same way (credential, header policy and rate; the rule's number may differ), the path is `ambiguousPath`.
  /// OPTIONS gets a credential only from a rule that names the method. `*` is no path: the service
  /// that has the whole path space takes it, if it has no rules or one for `*`.
  ///
  /// `trace`, when not nil, gets every rule of the service with its outcome for the canonical path; the same code runs
  /// without. Without it nothing is allocated.
  package func decide(
    _ request: AdmittedRequest, method: Method, methodName: Span<UInt8>, target: CanonicalTarget,
    trace: inout [RuleVerdict]?
  ) throws(PolicyRefusal) -> Route {
    if target.path.isEmpty, method != .options { throw .badPath }
    let found = service(for: request, path: target.path)
    for reading in target.readings where service(for: request, path: reading) != found { throw .ambiguousPath }
    guard let found else { throw .noService }
    switch services[found].callers?.verdict(on: request.caller) {
    case nil, .admitted: break
    case .userNotListed: throw .callerNotAllowedHere(service: found, uid: request.caller.uid)
    case .clientNotListed: throw .clientNotAllowedHere(service: found)
    }

    let verdict = table.verdict(
      of: found, rules: services[found].rules, path: target.path.span, method: method, name: methodName, trace: &trace)
    for reading in target.readings {
      var untraced: [RuleVerdict]?
      let other = table.verdict(
        of: found, rules: services[found].rules, path: reading.span, method: method, name: methodName, trace: &untraced)
      if !haveSameEffect(verdict, other, service: found, method: method, name: methodName) { throw .ambiguousPath }
    }

    try checkNetworkPaths(
      of: target, verdict: verdict, service: found, method: method, name: methodName)

    switch verdict {
    case .noMatch: throw .noRule(service: found)
    case .rule(let rule):
      guard let choice = credential(of: rule, service: found, method: method, name: methodName) else {
        throw .denied(service: found, rule: rule)
      }
      try checkGrant(choice, request.caller, service: found)
      return Route(service: found, rule: rule, credential: choice, pathStart: pathStart(of: found, target))
    case .unruled:
      let choice = method == .options ? services[found].credential.withoutInjection : services[found].credential
      try checkGrant(choice, request.caller, service: found)
      return Route(service: found, rule: nil, credential: choice, pathStart: pathStart(of: found, target))
    }
  }

  /// Below an upstream's root a target that begins with `//` can be read as a network path (RFC 3986 section 4.2): its first
  /// segment is an authority then, and the path is what follows. One more reading, in the two ways that are in use.
  private func checkNetworkPaths(
    of target: CanonicalTarget, verdict: RuleTable.Verdict, service: Int, method: Method, name: Span<UInt8>
  ) throws(PolicyRefusal) {
    let slash = UInt8(ascii: "/")
    // A path with `//` has other readings already; any other is done here.
    guard !target.readings.isEmpty, services[service].upstream.basePath.count == 1 else { return }
    let start = table.pathStart(of: service)
    var paths: [[UInt8]] = []
    for path in [target.path] + target.readings {
      guard path.count > start + 1, path[start] == slash, path[start + 1] == slash else { continue }
      let below = path[start...]
      // RFC 3986: whatever stands up to the third slash. WHATWG: however many slashes stand before it.
      let strict = below.dropFirst(2).drop { $0 != slash }
      let lenient = below.drop { $0 == slash }.drop { $0 != slash }
      for rest in [strict, lenient] { paths.append(rest.isEmpty ? [slash] : Array(rest)) }
    }
    // All of them at once, so that there is one bound on how many they are.
    for read in try PathReading.all(of: paths) {
      // Every reading begins with the service's mount.
      let read = Array(target.path[..<start]) + read
      var untraced: [RuleVerdict]?
      let other = table.verdict(
        of: service, rules: services[service].rules, path: read.span, method: method, name: name, trace: &untraced)
      if !haveSameEffect(verdict, other, service: service, method: method, name: name) { throw .ambiguousPath }
    }
  }

  /// The keyring asks again; here the answer comes before a connection is opened.
  private func checkGrant(_ choice: CredentialChoice, _ caller: Caller, service: Int) throws(PolicyRefusal) {
    guard case .inject(let index) = choice, grants.indices.contains(index) else { return }
    switch grants[index].callers?.verdict(on: caller) {
    case nil, .admitted: return
    case .userNotListed: throw .callerNotGranted(service: service, grant: index, uid: caller.uid)
    case .clientNotListed: throw .clientNotGranted(service: service, grant: index)
    }
  }

  private func service(for request: AdmittedRequest, path: [UInt8]) -> Int? {
    service(host: request.host, path: path, listener: request.listener)
  }

  /// The service that stands there, for all callers, and whatever its rules say.
  package func service(host: String?, path: [UInt8], listener: Int) -> Int? {
    if let host, let service = mounts.service(host: host, listener: listener) { return service }
    if path.isEmpty { return mounts.service(path: [UInt8(ascii: "/")].span, listener: listener) }
    return mounts.service(path: path.span, listener: listener)
  }

  private func pathStart(of service: Int, _ target: CanonicalTarget) -> Int {
    target.path.isEmpty ? 0 : table.pathStart(of: service)
  }

  /// nil: denied.
  private func credential(of rule: Int, service: Int, method: Method, name: Span<UInt8>) -> CredentialChoice? {
    guard let rules = services[service].rules, rules.indices.contains(rule) else { return nil }
    switch rules[rule].action {
    case .deny: return nil
    case .forward(let choice):
      let names = rules[rule].methods
      let isNamed = !names.names.isEmpty && names.contains(method, name: name)
      return method == .options && !isNamed ? choice.withoutInjection : choice
    }
  }

  private func haveSameEffect(
    _ one: RuleTable.Verdict, _ other: RuleTable.Verdict, service: Int, method: Method, name: Span<UInt8>
  ) -> Bool {
    if one == other { return true }
    let first = effect(one, service: service, method: method, name: name)
    let second = effect(other, service: service, method: method, name: name)
    guard let first, let second else { return first == nil && second == nil }
    return first.credential == second.credential && first.headers == second.headers && first.limit == second.limit
  }

  /// The effect on the request; nil: refused.
  private func effect(
    _ verdict: RuleTable.Verdict, service: Int, method: Method, name: Span<UInt8>
  ) -> (credential: CredentialChoice, headers: HeaderPolicy, limit: RateLimit)? {
    guard case .rule(let rule) = verdict, let rules = services[service].rules,
      let choice = credential(of: rule, service: service, method: method, name: name)
    else { return nil }
    return (choice, rules[rule].headers, rateLimit(service: service, rule: rule))
  }
}

extension CredentialChoice {
  /// The choice by which nothing is added, and all else stays.
  fileprivate var withoutInjection: CredentialChoice {
    switch self {
    case .inject, .none: .none
    case .pass: .pass
    }
  }
}
