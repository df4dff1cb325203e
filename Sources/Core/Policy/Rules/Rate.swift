/// So many requests of one caller in so much time (T8).
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

  /// As the configuration says it.
  package var description: String { "\(requests)/\(period.rawValue)" }
}

/// A rule's word on the rate of its requests.
package enum RuleRate: Sendable, Equatable {
  /// Nothing: they count for the service's.
  case asService
  /// They are not counted.
  case none
  /// They are counted by themselves.
  case own(Rate)
}

/// The place where the requests of a route are counted.
package enum RateLimit: Sendable, Equatable {
  case none
  case ofService(Rate)
  /// The rule's index, and its own.
  case ofRule(Int, Rate)

  package var rate: Rate? {
    switch self {
    case .none: nil
    case .ofService(let rate), .ofRule(_, let rate): rate
    }
  }

  /// nil: it is not a rule's.
  package var rule: Int? {
    switch self {
    case .none, .ofService: nil
    case .ofRule(let rule, _): rule
    }
  }
}

extension RuleSet {
  /// A rule's own, else the service's.
  package func rateLimit(service: Int, rule: Int?) -> RateLimit {
    let service = services[service]
    if let rule, let rules = service.rules, rules.indices.contains(rule) {
      switch rules[rule].rate {
      case .asService: break
      case .none: return .none
      case .own(let rate): return .ofRule(rule, rate)
      }
    }
    return service.rate.map { .ofService($0) } ?? .none
  }
}
