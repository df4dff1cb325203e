internal import Policy

/// What the rate leaves to who asks.
struct RateLeft {
  private let left: UInt64
  private let milliseconds: UInt64

  /// nil: nothing is counted, or the daemon has another configuration.
  init?(_ limit: RateLimit, of service: String, uid: UInt32?, client: String?, _ status: StatusDocument) {
    let rates = status.services.first { $0.name == service }?.rates
    guard let rate = limit.rate, let known = rates?.first(where: { $0.rule == limit.rule.map { $0 + 1 } }),
      known.rate == rate.description
    else { return nil }
    let caller = known.callers.first { $0.uid == uid && $0.client == client }
    left = caller?.left ?? UInt64(rate.requests)
    milliseconds = caller?.milliseconds ?? 0
  }

  var refuses: Bool { left == 0 }

  var row: String { refuses ? "none left now: one more in \(Age(milliseconds: milliseconds))" : "\(left) left now" }
}
