package import HTTP1
package import Policy

/// One generation of the configuration as the gateway sees it. Immutable; every request is decided under exactly one.
package final class Snapshot: Sendable {
  package let generation: UInt64
  package let rules: RuleSet
  /// By listener index.
  package let admissions: [Admission]
  package let headLimits: HeadLimits
  /// Authorities that lead back to us, lower-case with port.
  package let ownAuthorities: Set<String>
  /// What forwarding needs of each service, rendered once; by service index.
  let plans: [ForwardingPlan]

  package init(
    generation: UInt64, rules: RuleSet, admissions: [Admission], headLimits: HeadLimits, ownAuthorities: Set<String>
  ) {
    self.generation = generation
    self.rules = rules
    self.admissions = admissions
    self.headLimits = headLimits
    self.ownAuthorities = ownAuthorities
    self.plans = rules.services.map(ForwardingPlan.init)
  }

  /// The headers policy of a route: the rule's (which contains the service's), or the service's own.
  func headers(of route: Route) -> HeaderPolicy {
    let service = rules.services[route.service]
    guard let rule = route.rule, let rules = service.rules else { return service.headers }
    return rules[rule].headers
  }
}

/// What forwarding needs of a service, rendered once per generation.
struct ForwardingPlan: Sendable {
  /// `Host: api.example.com` and the line end.
  let hostLine: [UInt8]
  let basePath: [UInt8]
  /// Path of the mount, with its closing slash: what a local address begins with.
  let localBase: [UInt8]

  init(_ service: Service) {
    var line = Array("Host: ".utf8)
    line.append(contentsOf: service.upstream.origin.authority.utf8)
    line.append("\r\n")
    hostLine = line
    basePath = service.upstream.basePath
    switch service.mount {
    case .path(let path): localBase = path
    case .host, .whole: localBase = [UInt8(ascii: "/")]
    }
  }
}
