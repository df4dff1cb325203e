package import Configuration
package import Gateway
internal import Policy
package import System

/// The counts of all workers together, as one generation of the configuration names them: a limit is one however many loops
/// there are.
///
/// `@unchecked Sendable`, because the limiters are touched under `lock` alone, and the breakers see to that themselves.
package final class SharedLimits: @unchecked Sendable {
  /// The breakers of every credential that is ever suspended, and of each origin that its services have.
  package let breakers: [OriginBreaker]
  /// By the index of the grant, and of the breaker.
  let breakersByService: [[(grant: Int, breaker: Int)]]
  /// To be asked under `lock`.
  package let rates: RateLimits
  package let lock: SharedLock
  private let rejectedValues: RejectedValues
  private let former: [OriginBreaker]
  private let suspensions: [Suspension]

  /// On any thread; changes nothing before `begin`.
  /// - Parameter previous: of the generation before. What is still wanted goes on counting.
  package init(_ settings: Settings, after previous: SharedLimits?, lock: SharedLock) {
    self.lock = lock
    rejectedValues = previous?.rejectedValues ?? RejectedValues()
    former = previous?.breakers ?? []
    (breakers, breakersByService, suspensions) = OriginBreaker.all(
      for: settings, after: former, rejected: rejectedValues, lock: lock)
    rates = RateLimits(settings.rules, after: previous?.rates)
  }

  /// They hold from now on: breakers that go on follow these settings, and others leave what they know to those that come.
  package func begin() {
    for (breaker, suspension) in zip(breakers, suspensions) { breaker.follow(suspension) }
    let kept = Set(breakers.map { ObjectIdentifier($0) })
    let now = Clock.monotonicMicroseconds / 1_000
    for gone in former where !kept.contains(ObjectIdentifier(gone)) { gone.end(at: now) }
  }
}
