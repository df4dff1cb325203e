/// Maximum number of requests of one caller per period (T8).
package struct Rate: Sendable, Hashable, CustomStringConvertible {
  package enum Period: String, Sendable, CaseIterable {
    case second = "s"
    case minute = "m"
    case hour = "h"
    case day = "d"

    package var milliseconds: UInt64 {
      switch self {
      case .second: 1_000
      case .minute: 60_000
      case .hour: 3_600_000
      case .day: 86_400_000
      }
    }
  }

  /// At least one.
  package let requests: UInt32
  package let period: Period

  package init(requests: UInt32, per period: Period) {
    self.requests = max(1, requests)
    self.period = period
  }

  package var description: String { "\(requests)/\(period.rawValue)" }
}

/// The rate limit of a rule, for the requests that match it.
package enum RuleRate: Sendable, Equatable {
  /// The requests count toward the service's rate.
  case inherited
  /// The requests are not limited, and do not count toward the service's rate.
  case none
  /// The rule has its own rate. The requests do not count toward the service's rate.
  case own(Rate)
}

/// The rate limit that applies to a request. `ofRule` has the rule's index.
package enum RateLimit: Sendable, Equatable {
  case none
  case ofService(Rate)
  case ofRule(Int, Rate)

  package var rate: Rate? {
    switch self {
    case .none: nil
    case .ofService(let rate), .ofRule(_, let rate): rate
    }
  }

  package var rule: Int? {
    switch self {
    case .none, .ofService: nil
    case .ofRule(let rule, _): rule
    }
  }
}

extension RuleSet {
  /// Returns the rule's limit, or else the service's.
  package func rateLimit(service: Int, rule: Int?) -> RateLimit {
    let service = services[service]
    if let rule, let rules = service.rules, rules.indices.contains(rule) {
      switch rules[rule].rate {
      case .inherited: break
      case .none: return .none
      case .own(let rate): return .ofRule(rule, rate)
      }
    }
    return service.rate.map { .ofService($0) } ?? .none
  }
}
