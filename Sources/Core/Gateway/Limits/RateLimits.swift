package import Policy

/// The rate limiters of one loaded configuration.
package struct RateLimits {
  package struct Entry {
    package let service: Int
    /// Index of the limited rule. `nil` if the limiter is for the whole service.
    package let rule: Int?
    package let limiter: RateLimiter
  }

  package private(set) var all: [Entry] = []
  /// The limiters by service, then by rule. The last limiter of a service is for requests without a rule.
  private var byService: [[RateLimiter?]?] = []

  /// - Parameter earlier: the limiters of the previous configuration. Unchanged limits are kept.
  package init(_ rules: RuleSet, after earlier: RateLimits?) {
    let known = Dictionary(grouping: earlier?.all ?? []) { $0.limiter.scope.service }
    for (index, service) in rules.services.enumerated() {
      let start = all.count
      let count = service.rules?.count ?? 0
      let limiters = (0...count).map { rule in
        limiter(
          of: rules.rateLimit(service: index, rule: rule < count ? rule : nil), index, service, since: start,
          known[service.name] ?? [])
      }
      byService.append(limiters.contains { $0 != nil } ? limiters : nil)
    }
  }

  /// Returns the limiter of a route. `nil` if its requests are not limited.
  package func limiter(of route: Route) -> RateLimiter? {
    guard let limiters = byService[route.service] else { return nil }
    return limiters[route.rule ?? limiters.count - 1]
  }

  private mutating func limiter(
    of limit: RateLimit, _ index: Int, _ service: Service, since start: Int, _ earlier: [Entry]
  ) -> RateLimiter? {
    let rule: Int?
    let rate: Rate
    switch limit {
    case .none: return nil
    case .ofService(let own): (rule, rate) = (nil, own)
    case .ofRule(let number, let own): (rule, rate) = (number, own)
    }
    if let known = all[start...].first(where: { $0.rule == rule }) { return known.limiter }
    let own = rule.flatMap { service.rules?[$0] }
    let scope = RateLimiter.Scope(service: service.name, pattern: own?.pattern, methods: own?.methods)
    let made =
      earlier.first { $0.limiter.scope == scope && $0.limiter.rate == rate }?.limiter ?? RateLimiter(scope, rate)
    all.append(Entry(service: index, rule: rule, limiter: made))
    return made
  }
}
