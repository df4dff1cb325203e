package import Gateway
internal import Log
package import Policy
internal import Primitives
internal import StatusModel
internal import Transport

/// The state that all requests of one route share within a generation.
package final class RouteContext {
  package let route: Route
  package let generation: UInt64
  package let timeouts: Timeouts
  /// The credential's circuit breaker. `nil` if the credential is never suspended.
  package let breaker: BreakerView?
  /// The rate limiter. Use it only under `SharedLimits.lock`. `nil` without a rate limit.
  package let limiter: RateLimiter?
  /// The upstream's origin if its cookies are kept, otherwise `nil`.
  package let jarOrigin: Origin?
  /// Whether `jarOrigin` is set.
  package let keepsCookies: Bool
  /// Whether only connections with HTTP/1.1 can carry the route's requests.
  package let needsHTTP1: Bool
  /// The first part of the route's log lines.
  package let logText: [UInt8]
  package let credentialText: [UInt8]
  /// The pool for the route's upstream connections. `nil` until the first request needs a connection.
  var pool: UpstreamPool?
  /// The next context with the same service and rule, in a linked list.
  let next: RouteContext?

  init(
    _ route: Route, generation: UInt64, timeouts: Timeouts, breaker: BreakerView?, limiter: RateLimiter?,
    jarOrigin: Origin?, needsHTTP1: Bool, logText: [UInt8],
    credentialText: [UInt8], next: RouteContext?
  ) {
    self.route = route
    self.generation = generation
    self.timeouts = timeouts
    self.breaker = breaker
    self.limiter = limiter
    self.jarOrigin = jarOrigin
    keepsCookies = jarOrigin != nil
    self.needsHTTP1 = needsHTTP1
    self.logText = logText
    self.credentialText = credentialText
    self.next = next
  }

  static func logText(of route: Route, rules: RuleSet) -> [UInt8] {
    var line = LogLine()
    line.field("event", LogEvent.request.rawValue)
    let service = rules.services[route.service]
    line.field("service", service.name)
    if let rule = route.rule { line.field("rule", rule + 1) }
    line.field("upstream", service.upstream.origin.description)
    return Array(line.bytes.contents)
  }

  /// Returns the part of a log line that names the credential.
  static func credentialText(of route: Route, rules: RuleSet) -> [UInt8] {
    guard let grant = rules.grant(of: route) else { return [] }
    var line = LogLine()
    line.field("credential", grant.name)
    line.raw(" credential_generation=")
    return Array(line.bytes.contents)
  }

  /// Returns the first context that `isWanted` accepts, in the list that begins with this context.
  func first(where isWanted: (RouteContext) -> Bool) -> RouteContext? {
    var routeContext: RouteContext? = self
    while let known = routeContext {
      if isWanted(known) { return known }
      routeContext = known.next
    }
    return nil
  }
}
