internal import Configuration
internal import Gateway
internal import Policy
internal import System

/// What all workers count together, as one generation of the configuration names it: a limit is one however many loops there
/// are.
///
/// `@unchecked Sendable`, because the limiters are touched under `lock` alone, and the breakers see to that themselves.
final class SharedLimits: @unchecked Sendable {
  /// Of every credential that is ever held back, and each origin that its services have.
  let breakers: [OriginBreaker]
  let breakersByService: [[(grant: Int, breaker: OriginBreaker)]]
  /// To be asked under `lock`.
  let rates: RateLimits
  let lock: SharedLock
  private let rejectedValues: RejectedValues

  /// - Parameter previous: of the generation before. What is still wanted goes on counting.
  init(_ settings: Settings, after previous: SharedLimits?, lock: SharedLock) {
    self.lock = lock
    rejectedValues = previous?.rejectedValues ?? RejectedValues()
    (breakers, breakersByService) = OriginBreaker.all(
      for: settings, after: previous?.breakers ?? [], rejected: rejectedValues, lock: lock)
    rates = RateLimits(settings.rules, after: previous?.rates)
  }
}
