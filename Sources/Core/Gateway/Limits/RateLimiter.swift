internal import Lifecycle
package import Policy

/// The rate limit of a service or one of its rules, as a token bucket for each caller (T8).
///
/// Times are milliseconds of a monotonic clock.
package final class RateLimiter {
  /// Identifies the limited service or rule.
  struct Scope: Equatable {
    let service: String
    /// The pattern of the limited rule. `nil`, like `methods`, if the service itself is limited.
    let pattern: URLPattern?
    let methods: MethodSet?
  }

  private struct Bucket {
    /// The time when the bucket is full again, in ticks (see `perMillisecond`).
    var fullAt: UInt64 = 0
    /// Number of requests that are about to be sent.
    var reserved: UInt64 = 0
    /// Number of refusals since the last log line.
    var refused: UInt64 = 0
    /// The time of the last log line, in milliseconds. `nil` if there was none.
    var loggedAt: UInt64?
  }

  let scope: Scope
  package let rate: Rate
  private var buckets: [Caller: Bucket] = [:]
  /// The number of buckets at which full buckets are removed.
  private var sweepAt = RateLimiter.fewest

  private static let fewest = 64
  /// Minimum time between two log lines about one caller, in milliseconds.
  private static let logInterval: UInt64 = 10_000

  init(_ scope: Scope, _ rate: Rate) {
    self.scope = scope
    self.rate = rate
  }

  // MARK: before a request is sent

  /// Reserves one request for the caller, until `spend` or `release`.
  /// - Returns: `nil` if the request is reserved. Otherwise the milliseconds until the next request is possible.
  package func reserve(for caller: Caller, at milliseconds: UInt64) -> UInt64? {
    let now = ticks(milliseconds)
    let bucket = buckets[caller] ?? Bucket()
    if let wait = wait(bucket, at: now) { return wait }
    if buckets[caller] == nil { makeRoom(at: now) }
    buckets[caller, default: bucket].reserved &+= 1
    return nil
  }

  package func spend(_ caller: Caller, at milliseconds: UInt64) {
    guard let bucket = buckets[caller], bucket.reserved > 0 else { return }
    buckets[caller]?.reserved &-= 1
    buckets[caller]?.fullAt = max(bucket.fullAt, ticks(milliseconds)).saturating(cost)
  }

  /// Releases the reservation of a request that was not sent.
  package func release(for caller: Caller) {
    guard let bucket = buckets[caller], bucket.reserved > 0 else { return }
    buckets[caller]?.reserved &-= 1
  }

  /// Counts a refused request. Returns the number of refusals since the last log line. `nil` if no new line is due.
  package func countRefusal(of caller: Caller, at milliseconds: UInt64) -> UInt64? {
    guard var bucket = buckets[caller] else { return nil }
    bucket.refused &+= 1
    var reported: UInt64?
    if bucket.loggedAt.map({ milliseconds >= $0.saturating(RateLimiter.logInterval) }) ?? true {
      reported = bucket.refused
      bucket.refused = 0
      bucket.loggedAt = milliseconds
    }
    buckets[caller] = bucket
    return reported
  }

  // MARK: status

  package struct Usage {
    package let caller: Caller
    package let left: UInt64
    /// Milliseconds until the next request is possible. 0 if it is possible now.
    package let wait: UInt64
  }

  /// Returns the usage of all callers whose bucket is not full, ordered by user and client.
  package func usages(at milliseconds: UInt64) -> [Usage] {
    let now = ticks(milliseconds)
    return buckets.filter { !isFull($0.value, at: now) }.map { usage(of: $0, $1, at: now) }.sorted {
      ($0.caller.uid ?? 0, $0.caller.client ?? "") < ($1.caller.uid ?? 0, $1.caller.client ?? "")
    }
  }

  package func usage(of caller: Caller, at milliseconds: UInt64) -> Usage {
    usage(of: caller, buckets[caller] ?? Bucket(), at: ticks(milliseconds))
  }

  private func usage(of caller: Caller, _ bucket: Bucket, at now: UInt64) -> Usage {
    Usage(
      caller: caller, left: (capacity &- min(used(bucket, at: now), capacity)) / cost,
      wait: wait(bucket, at: now) ?? 0)
  }

  var bucketCount: Int { buckets.count }

  // MARK: arithmetic

  /// Number of ticks in a millisecond. A tick is 1/`rate.requests` ms.
  private var perMillisecond: UInt64 { UInt64(rate.requests) }
  /// The time in which the bucket refills by one request, in ticks (see `perMillisecond`).
  private var cost: UInt64 { rate.period.milliseconds }
  private var capacity: UInt64 { cost &* perMillisecond }

  private func used(_ bucket: Bucket, at now: UInt64) -> UInt64 {
    (bucket.fullAt > now ? bucket.fullAt &- now : 0).saturating(bucket.reserved &* cost)
  }

  private func isFull(_ bucket: Bucket, at now: UInt64) -> Bool { bucket.fullAt <= now && bucket.reserved == 0 }

  /// Milliseconds until there is room for one more request. `nil` if there is room now.
  private func wait(_ bucket: Bucket, at now: UInt64) -> UInt64? {
    let wanted = used(bucket, at: now).saturating(cost)
    guard wanted > capacity else { return nil }
    let missing = wanted &- capacity
    return missing / perMillisecond &+ (missing % perMillisecond == 0 ? 0 : 1)
  }

  private func ticks(_ milliseconds: UInt64) -> UInt64 { milliseconds.saturating(times: perMillisecond) }

  private func makeRoom(at now: UInt64) {
    guard buckets.count >= sweepAt else { return }
    buckets = buckets.filter { !isFull($0.value, at: now) }
    sweepAt = max(RateLimiter.fewest, buckets.count &* 2)
  }
}
