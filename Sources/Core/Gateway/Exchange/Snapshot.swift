package import HTTP1
package import Policy
internal import Primitives

/// One generation of the configuration as the gateway sees it. Immutable; every request is decided under exactly one.
package final class Snapshot: Sendable {
  package let generation: UInt64
  package let rules: RuleSet
  /// By listener index.
  package let admissions: [Admission]
  /// By listener index.
  package let listeners: [ListenerID]
  /// The gates by listener, and once more for callers by a unix socket: no page can come there, and clients write any name
  /// (T1).
  private let gates: [Gate]
  private let socketGates: [Gate]
  /// Index of the listener that answers scrapes and nothing else; nil: there is none.
  let metricsListener: Int?
  /// How the client tokens of requests are told apart.
  let tokenHash: TokenHash
  package let headLimits: HeadLimits
  /// Limits of the heads and trailers of responses.
  package let responseLimits: HeadLimits
  /// Authorities that lead back to us, lower-case with port.
  package let ownAuthorities: Set<String>
  /// The ports among them.
  let ownPorts: Set<UInt16>
  /// The fields that forwarding needs of each service, rendered once; by service index.
  let plans: [ForwardingPlan]
  /// Whether some credential signs the parameters of forms.
  let signsForms: Bool

  /// - Parameter listeners: The identities of the listeners, in the order of `admissions`. `nil` numbers them from 0.
  package init(
    generation: UInt64, rules: RuleSet, admissions: [Admission], headLimits: HeadLimits,
    responseLimits: HeadLimits = .ofResponses, ownAuthorities: Set<String>,
    listeners: [ListenerID]? = nil, metricsListener: Int? = nil, tables: Tables? = nil,
    tokenHash: @escaping TokenHash = { _ in nil }
  ) {
    self.listeners = listeners ?? admissions.indices.map { ListenerID(number: UInt64($0)) }
    self.tokenHash = tokenHash
    self.metricsListener = metricsListener
    self.generation = generation
    self.rules = rules
    self.admissions = admissions
    gates = admissions.map(Gate.init)
    socketGates = admissions.map {
      Gate(Admission(callers: $0.callers, authorities: nil, clients: $0.clients, pages: $0.pages))
    }
    self.headLimits = headLimits
    self.responseLimits = responseLimits
    self.ownAuthorities = ownAuthorities
    ownPorts = Set(ownAuthorities.compactMap { $0.split(separator: ":").last.flatMap { UInt16($0) } })
    let tables = tables ?? Tables(rules)
    (plans, signsForms) = (tables.plans, tables.signsForms)
  }

  /// A copy, but for how client tokens are told apart: `explain` knows a client's name and no token of it.
  package init(_ other: Snapshot, tokenHash: @escaping TokenHash) {
    self.tokenHash = tokenHash
    (metricsListener, generation, rules) = (other.metricsListener, other.generation, other.rules)
    (admissions, gates, socketGates) = (other.admissions, other.gates, other.socketGates)
    listeners = other.listeners
    (headLimits, responseLimits) = (other.headLimits, other.responseLimits)
    (ownAuthorities, ownPorts) = (other.ownAuthorities, other.ownPorts)
    (plans, signsForms) = (other.plans, other.signsForms)
  }

  /// Tables that follow from the rules alone: made on any thread, since that takes the longer the more services there are.
  package struct Tables: Sendable {
    let plans: [ForwardingPlan]
    let signsForms: Bool

    package init(_ rules: RuleSet) {
      plans = rules.services.map { ForwardingPlan($0, among: rules.services) }
      signsForms = rules.grants.contains(where: \.signsForms)
    }
  }

  /// Returns the index of a listener in `admissions` and in the settings, or `nil` if this configuration does not have the listener.
  package func index(of listener: ListenerID?) -> Int? {
    guard let listener else { return nil }
    for index in listeners.indices where listeners[index] == listener { return index < admissions.count ? index : nil }
    return nil
  }

  /// Whether a listener answers scrapes and nothing else.
  package func isForMetrics(_ listener: ListenerID) -> Bool {
    metricsListener != nil && index(of: listener) == metricsListener
  }

  /// - Parameter listener: An index of `admissions`.
  func gate(at listener: Int, isLocalSocket: Bool) -> Gate {
    isLocalSocket ? socketGates[listener] : gates[listener]
  }

  /// The headers policy of a route: the rule's (which contains the service's), or the service's own.
  func headers(of route: Route) -> HeaderPolicy { sharedHeaders(of: route).value }

  /// The cookies of its requests come from a jar, if a credential is added.
  package func keepsCookies(of route: Route) -> Bool {
    guard case .inject = route.credential, case .jar = sharedHeaders(of: route).value.cookies else { return false }
    return true
  }

  func sharedHeaders(of route: Route) -> Shared<HeaderPolicy> {
    plans[route.service].headers(of: route)
  }
}

/// A value with many parts, behind one reference: an array would copy it part by part to have it asked something.
final class Shared<Value: Sendable>: Sendable {
  let value: Value
  init(_ value: Value) { self.value = value }
}

extension RuleSet {
  /// The grant of a route that adds a credential.
  package func grant(of route: Route) -> Grant? {
    guard case .inject(let index) = route.credential else { return nil }
    return grants[index]
  }
}

/// The fields that forwarding needs of a service, rendered once per generation.
final class ForwardingPlan: Sendable {
  /// The end of the request line, `Host: api.example.com` and its line end.
  let hostLine: [UInt8]
  /// The origin that a page's `Origin` and `Referer` become: to the upstream it is one of its own.
  let origin: [UInt8]
  let referer: [UInt8]
  let basePath: [UInt8]
  /// Path of the mount, with its closing slash: what a local address begins with.
  let localBase: [UInt8]
  /// Mounts of other services below this one's.
  let nested: [[UInt8]]
  /// The service's own, and by rule.
  let headers: Shared<HeaderPolicy>
  let ruleHeaders: [Shared<HeaderPolicy>]

  func headers(of route: Route) -> Shared<HeaderPolicy> { route.rule.map { ruleHeaders[$0] } ?? headers }

  init(_ service: Service, among services: [Service]) {
    var line = Array(" HTTP/1.1\r\nHost: ".utf8)
    line.append(contentsOf: service.upstream.origin.authority.utf8)
    line.append("\r\n")
    hostLine = line
    basePath = service.upstream.basePath
    origin = Array(service.upstream.origin.description.utf8)
    referer = origin + basePath
    switch service.mount {
    case .path(let path): localBase = path
    case .host, .whole: localBase = [UInt8(ascii: "/")]
    }
    headers = Shared(service.headers)
    ruleHeaders = (service.rules ?? []).map { Shared($0.headers) }
    let base = localBase
    if case .host = service.mount {
      // A host name of its own has the whole path space.
      nested = []
    } else {
      nested = services.compactMap { other in
        guard other.listener == service.listener, case .path(let path) = other.mount, path != base else { return nil }
        return path.starts(with: base) ? path : nil
      }
    }
  }
}
