package import Gateway
internal import Log
package import Policy
internal import Primitives
internal import Transport

/// The state that all requests of one route have in common within a generation: found once per request.
package final class RouteContext {
  package let route: Route
  /// The configuration's number.
  package let generation: UInt64
  package let timeouts: Timeouts
  /// nil: its credential is never held back, or it has none.
  package let breaker: BreakerView?
  /// nil: its requests are not counted. Of all workers: to be asked under their lock.
  package let limiter: RateLimiter?
  /// The upstream's, if cookies are kept for it.
  package let jarOrigin: Origin?
  /// There is one: asked for each request.
  package let keepsCookies: Bool
  /// The part of a log line that is the same for all requests of the route, and the one if a credential was added.
  package let logText: [UInt8]
  package let credentialText: [UInt8]
  /// The pool of its sessions; nil: none was asked for yet.
  var pool: UpstreamPool?
  /// Another route of the same rule.
  let next: RouteContext?

  init(
    _ route: Route, generation: UInt64, timeouts: Timeouts, breaker: BreakerView?, limiter: RateLimiter?,
    jarOrigin: Origin?, logText: [UInt8],
    credentialText: [UInt8], next: RouteContext?
  ) {
    self.route = route
    self.generation = generation
    self.timeouts = timeouts
    self.breaker = breaker
    self.limiter = limiter
    self.jarOrigin = jarOrigin
    keepsCookies = jarOrigin != nil
    self.logText = logText
    self.credentialText = credentialText
    self.next = next
  }

  /// The beginning of a route's log lines, which never changes within a generation: made once.
  static func logText(of route: Route, rules: RuleSet) -> [UInt8] {
    var line = LogLine()
    line.field("event", LogEvent.request.rawValue)
    let service = rules.services[route.service]
    line.field("service", service.name)
    if let rule = route.rule { line.field("rule", rule + 1) }
    line.field("upstream", service.upstream.origin.description)
    return Array(line.bytes.contents)
  }

  /// The text that follows if a credential was added: the number of its value comes behind it.
  static func credentialText(of route: Route, rules: RuleSet) -> [UInt8] {
    guard let grant = rules.grant(of: route) else { return [] }
    var line = LogLine()
    line.field("credential", grant.name)
    line.raw(" credential_generation=")
    return Array(line.bytes.contents)
  }

  /// The first context that is wanted, of this one and those behind it.
  func first(where isWanted: (RouteContext) -> Bool) -> RouteContext? {
    var routeContext: RouteContext? = self
    while let known = routeContext {
      if isWanted(known) { return known }
      routeContext = known.next
    }
    return nil
  }
}
