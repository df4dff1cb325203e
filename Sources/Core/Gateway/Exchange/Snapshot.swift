package import HTTP1
package import Policy

/// The data of one loaded configuration that this module needs. Each request is decided by one snapshot.
package final class Snapshot: Sendable {
  package let generation: UInt64
  package let rules: RuleSet
  package let admissions: [Admission]
  package let listeners: [ListenerID]
  /// The admission checks by listener index (T1).
  private let gates: [Gate]
  private let socketGates: [Gate]
  /// Index of the listener that serves only metrics. `nil` if there is none.
  let metricsListener: Int?
  let tokenHash: TokenHash
  /// For `Sec-WebSocket-Accept`.
  let webSocketHash: WebSocketHash
  /// What callers of a listener with `discovery` may learn, by listener index.
  package let discoveryOffers: [Int: [Discovery.Offer]]
  package let headLimits: HeadLimits
  package let responseLimits: HeadLimits
  /// Host and port of every address that leads to bearerd's listeners, in lower case.
  package let ownAuthorities: Set<String>
  let ownPorts: Set<UInt16>
  /// The prepared data for forwarding, by service index.
  let plans: [ForwardingPlan]
  let signsForms: Bool

  /// - Parameter listeners: the listeners' identities, in the order of `admissions`. `nil` numbers them from 0.
  package init(
    generation: UInt64, rules: RuleSet, admissions: [Admission], headLimits: HeadLimits,
    responseLimits: HeadLimits = .forResponses, ownAuthorities: Set<String>,
    listeners: [ListenerID]? = nil, metricsListener: Int? = nil,
    discoveryListeners: [Int] = [], tables: Tables? = nil,
    tokenHash: @escaping TokenHash = { _ in nil }, webSocketHash: @escaping WebSocketHash = { _ in nil }
  ) {
    self.listeners = listeners ?? admissions.indices.map { ListenerID(number: UInt64($0)) }
    (self.tokenHash, self.webSocketHash) = (tokenHash, webSocketHash)
    self.metricsListener = metricsListener
    discoveryOffers = Discovery.offers(of: rules, on: discoveryListeners)
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

  /// Copies a snapshot with another hash function for client tokens.
  package init(_ other: Snapshot, tokenHash: @escaping TokenHash) {
    (self.tokenHash, webSocketHash) = (tokenHash, other.webSocketHash)
    discoveryOffers = other.discoveryOffers
    (metricsListener, generation, rules) = (other.metricsListener, other.generation, other.rules)
    (admissions, gates, socketGates) = (other.admissions, other.gates, other.socketGates)
    listeners = other.listeners
    (headLimits, responseLimits) = (other.headLimits, other.responseLimits)
    (ownAuthorities, ownPorts) = (other.ownAuthorities, other.ownPorts)
    (plans, signsForms) = (other.plans, other.signsForms)
  }

  /// Tables that are computed from the rules, on any thread.
  package struct Tables: Sendable {
    let plans: [ForwardingPlan]
    let signsForms: Bool

    package init(_ rules: RuleSet) {
      plans = rules.services.map { ForwardingPlan($0, among: rules.services) }
      signsForms = rules.grants.contains(where: \.signsForms)
    }
  }

  /// Returns the index of a listener in `admissions`. `nil` if this configuration does not have the listener.
  package func index(of listener: ListenerID?) -> Int? {
    guard let listener else { return nil }
    for index in listeners.indices where listeners[index] == listener { return index < admissions.count ? index : nil }
    return nil
  }

  package func isForMetrics(_ listener: ListenerID?) -> Bool {
    metricsListener != nil && index(of: listener) == metricsListener
  }

  /// Returns the admission check of a listener.
  /// - Parameter listener: an index of `admissions`.
  func gate(at listener: Int, isLocalSocket: Bool) -> Gate {
    isLocalSocket ? socketGates[listener] : gates[listener]
  }

  /// Returns the header policy of the route's rule, or of the service if there is no rule.
  func headers(of route: Route) -> HeaderPolicy { sharedHeaders(of: route).value }

  func options(of route: Route) -> ServiceOptions { rules.services[route.service].options }

  /// Whether requests with a credential on this route get their cookies from a jar.
  package func keepsCookies(of route: Route) -> Bool {
    guard case .inject = route.credential, case .jar = options(of: route).cookies else { return false }
    return true
  }

  func sharedHeaders(of route: Route) -> Shared<HeaderPolicy> {
    plans[route.service].headers(of: route)
  }
}

/// A reference to a large value, so that reading it from an array copies no parts.
final class Shared<Value: Sendable>: Sendable {
  let value: Value
  init(_ value: Value) { self.value = value }
}

extension RuleSet {
  /// Returns the grant whose credential the route adds. `nil` if it adds none.
  package func grant(of route: Route) -> Grant? {
    guard case .inject(let index) = route.credential else { return nil }
    return grants[index]
  }
}

/// The parts of a service that forwarding needs, rendered once per configuration.
final class ForwardingPlan: Sendable {
  /// The upstream's host and port, as in Host.
  let authority: [UInt8]
  /// The upstream's origin. It replaces the value of Origin in a request of a web page.
  let origin: [UInt8]
  let referer: [UInt8]
  let basePath: [UInt8]
  /// The path of the mount, with a final slash.
  let localBase: [UInt8]
  /// The mounts of other services below this service's mount.
  let nested: [[UInt8]]
  let headers: Shared<HeaderPolicy>
  let ruleHeaders: [Shared<HeaderPolicy>]

  func headers(of route: Route) -> Shared<HeaderPolicy> { route.rule.map { ruleHeaders[$0] } ?? headers }

  init(_ service: Service, among services: [Service]) {
    authority = Array(service.upstream.origin.authority.utf8)
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
      // A service with its own host name has all paths.
      nested = []
    } else {
      nested = services.compactMap { other in
        guard other.listener == service.listener, case .path(let path) = other.mount, path != base else { return nil }
        return path.starts(with: base) ? path : nil
      }
    }
  }
}
