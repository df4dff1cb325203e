// Called by `Exchange.decide`.
// Calls `MountIndex` and `RuleTable`.

package import HTTP1

/// The destination of a request: its service, rule and credential.
package struct Route: Sendable, Equatable {
  package let service: Int
  /// Index of the matching rule; `nil` if the service has no rules.
  package let rule: Int?
  package let credential: CredentialChoice
  /// Index in the canonical path at which the path below the mount begins.
  package let pathStart: Int

  package init(service: Int, rule: Int?, credential: CredentialChoice, pathStart: Int) {
    (self.service, self.rule, self.credential, self.pathStart) = (service, rule, credential, pathStart)
  }

  package static func == (one: Route, other: Route) -> Bool {
    // Hand-written for speed: other modules would call a synthesized `==` through a witness table, once per request.
    one.service == other.service && one.rule == other.rule && one.credential == other.credential
      && one.pathStart == other.pathStart
  }
}

/// The outcome of one rule for a request, for `bearerctl explain`.
package struct RuleVerdict: Sendable, Equatable {
  /// `won`: the first rule that matches. `notReached`: a rule after it.
  package enum Outcome: Sendable, Equatable { case won, methodDiffers, pathDiffers, notReached }
  package let rule: Int
  package let outcome: Outcome
}

/// All services and their rules. The first matching rule of a service decides.
package struct RuleSet: Sendable, Equatable {
  package let services: [Service]
  package let grants: [Grant]
  private let mounts: MountIndex
  private let table: RuleTable

  /// Builds the indexes. The values must be valid.
  package init(services: [Service], grants: [Grant]) {
    self.services = services
    self.grants = grants
    mounts = MountIndex(services)
    table = RuleTable(services)
  }

  /// Returns the destination of an admitted request. Throws `ambiguousPath` if two readings of the path lead to
  /// different results, and `noService` for `/github` if the mount is `/github/`. OPTIONS gets a credential only from a
  /// rule that names OPTIONS. The target `*` belongs to the host's service, or else to the service at `/`.
  /// - Parameter trace: If not `nil`, receives the outcome of every rule of the service.
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
    case .noRules:
      let choice = method == .options ? services[found].credential.withoutInjection : services[found].credential
      try checkGrant(choice, request.caller, service: found)
      return Route(service: found, rule: nil, credential: choice, pathStart: pathStart(of: found, target))
    }
  }

  /// Throws `ambiguousPath` if the rules decide a path that begins with `//` differently without its first segment.
  private func checkNetworkPaths(
    of target: CanonicalTarget, verdict: RuleTable.Verdict, service: Int, method: Method, name: Span<UInt8>
  ) throws(PolicyRefusal) {
    // A server may read the first segment as a host name, and only the rest as the path (RFC 3986 section 4.2).
    let slash = UInt8(ascii: "/")
    // A path with `//` always has other readings, so other paths are finished here.
    guard !target.readings.isEmpty, services[service].upstream.basePath.count == 1 else { return }
    let start = table.pathStart(of: service)
    var paths: [[UInt8]] = []
    for path in [target.path] + target.readings {
      guard path.count > start + 1, path[start] == slash, path[start + 1] == slash else { continue }
      let below = path[start...]
      // RFC 3986: the authority ends at the third slash. WHATWG: any number of slashes may precede the authority.
      let strict = below.dropFirst(2).drop { $0 != slash }
      let lenient = below.drop { $0 == slash }.drop { $0 != slash }
      for rest in [strict, lenient] { paths.append(rest.isEmpty ? [slash] : Array(rest)) }
    }
    // All paths in one call, so that one limit applies to all their readings.
    for read in try PathReading.all(of: paths) {
      // Every reading begins with the service's mount.
      let read = Array(target.path[..<start]) + read
      var untraced: [RuleVerdict]?
      let other = table.verdict(
        of: service, rules: services[service].rules, path: read.span, method: method, name: name, trace: &untraced)
      if !haveSameEffect(verdict, other, service: service, method: method, name: name) { throw .ambiguousPath }
    }
  }

  private func checkGrant(_ choice: CredentialChoice, _ caller: Caller, service: Int) throws(PolicyRefusal) {
    // The keyring checks the grant again, but only after a connection is open.
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

  /// Returns the service for this host and path; `nil` if there is none.
  package func service(host: String?, path: [UInt8], listener: Int) -> Int? {
    if let host, let service = mounts.service(host: host, listener: listener) { return service }
    if path.isEmpty { return mounts.service(path: [UInt8(ascii: "/")].span, listener: listener) }
    return mounts.service(path: path.span, listener: listener)
  }

  private func pathStart(of service: Int, _ target: CanonicalTarget) -> Int {
    target.path.isEmpty ? 0 : table.pathStart(of: service)
  }

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
  /// The same choice without adding a credential: `inject` becomes `none`.
  fileprivate var withoutInjection: CredentialChoice {
    switch self {
    case .inject, .none: .none
    case .pass: .pass
    }
  }
}
