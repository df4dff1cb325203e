package import Gateway
internal import Policy
package import Settings
package import System

/// The rate limiters and circuit breakers of one generation, shared by all workers.
package final class SharedLimits: @unchecked Sendable {
  // The limiters are used only under `lock`, and the breakers lock themselves.
  /// One breaker for each combination of an origin and a credential that can be suspended.
  package let breakers: [OriginBreaker]
  /// For each service, the grants that can be suspended, and the indices of their breakers in `breakers`.
  let breakersByService: [[(grant: Int, breaker: Int)]]
  /// The rate limiters. Use them only under `lock`.
  package let rates: RateLimits
  package let lock: SharedLock
  private let rejectedValues: RejectedValues
  private let former: [OriginBreaker]
  private let suspensions: [Suspension]

  /// Creates limits on any thread. They apply after `activate`.
  /// - Parameter previous: the limits of the previous generation. Limits that still exist keep their counts.
  package init(_ settings: DaemonSettings, after previous: SharedLimits?, lock: SharedLock) {
    self.lock = lock
    rejectedValues = previous?.rejectedValues ?? RejectedValues()
    former = previous?.breakers ?? []
    (breakers, breakersByService, suspensions) = OriginBreaker.all(
      for: settings, after: former, rejected: rejectedValues, lock: lock)
    rates = RateLimits(settings.rules, after: previous?.rates)
  }

  /// Brings these limits into use.
  package func activate() {
    for (breaker, suspension) in zip(breakers, suspensions) { breaker.apply(suspension) }
    let kept = Set(breakers.map { ObjectIdentifier($0) })
    let now = Clock.monotonicMicroseconds / 1_000
    for gone in former where !kept.contains(ObjectIdentifier(gone)) { gone.retire(at: now) }
  }
}
