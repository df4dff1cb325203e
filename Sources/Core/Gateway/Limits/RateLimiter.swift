package import Policy

/// How many requests a service, or one of its rules, still lets out for each caller (T8): a token bucket that holds as many as
/// the rate allows in its period, and fills evenly. A caller that has not asked for a whole period may send them all at once.
///
/// No clock: times are milliseconds of any that only goes on. Only admitted callers have a bucket, and one that is full is
/// forgotten when there are many: an unknown caller's is full.
package final class RateLimiter {
  /// The service or rule that is limited, whatever number the rule has: the same place goes on counting after a reload.
  struct Place: Equatable {
    let service: String
    /// Both nil: the service itself.
    let pattern: URLPattern?
    let methods: MethodSet?
  }

  private struct Bucket {
    /// When what was spent has filled up again.
    var fullAt: UInt64 = 0
    /// Requests that are about to go out. What they may take does not fill up: it is still there.
    var reserved: UInt64 = 0
    /// Refused since the log last said so.
    var refused: UInt64 = 0
    /// Milliseconds; nil: never.
    var loggedAt: UInt64?
  }

  let place: Place
  package let rate: Rate
  private var buckets: [Caller: Bucket] = [:]
  /// So many buckets, and the full ones are looked for.
  private var sweepAt = RateLimiter.fewest

  private static let fewest = 64
  /// Milliseconds between two lines of the log.
  private static let silence: UInt64 = 10_000

  init(_ place: Place, _ rate: Rate) {
    self.place = place
    self.rate = rate
  }

  // MARK: a request wants to go out

  /// One request less that this caller has left, until `spend` or `giveBack`.
  /// - Returns: nil; or milliseconds until there is one again, and nothing was reserved.
  package func reserve(for caller: Caller, at milliseconds: UInt64) -> UInt64? {
    let now = ticks(milliseconds)
    let bucket = buckets[caller] ?? Bucket()
    if let wait = wait(bucket, at: now) { return wait }
    if buckets[caller] == nil { makeRoom(at: now) }
    buckets[caller, default: bucket].reserved &+= 1
    return nil
  }

  /// Counts a request of the caller that goes out.
  package func spend(_ caller: Caller, at milliseconds: UInt64) {
    guard let bucket = buckets[caller], bucket.reserved > 0 else { return }
    buckets[caller]?.reserved &-= 1
    buckets[caller]?.fullAt = sum(max(bucket.fullAt, ticks(milliseconds)), cost)
  }

  /// Gives back what a request that did not go out has taken.
  package func giveBack(to caller: Caller) {
    guard let bucket = buckets[caller], bucket.reserved > 0 else { return }
    buckets[caller]?.reserved &-= 1
  }

  /// A request was refused. How many were since the log last said so, if it is to say so now.
  package func countRefusal(of caller: Caller, at milliseconds: UInt64) -> UInt64? {
    guard var bucket = buckets[caller] else { return nil }
    bucket.refused &+= 1
    var told: UInt64?
    if bucket.loggedAt.map({ milliseconds >= sum($0, RateLimiter.silence) }) ?? true {
      told = bucket.refused
      bucket.refused = 0
      bucket.loggedAt = milliseconds
    }
    buckets[caller] = bucket
    return told
  }

  // MARK: what people are told

  package struct Standing {
    package let caller: Caller
    package let left: UInt64
    /// Milliseconds until there is one; 0: there is.
    package let wait: UInt64
  }

  /// The standings of callers who have not all that the rate allows; by user, then by client.
  package func standings(at milliseconds: UInt64) -> [Standing] {
    let now = ticks(milliseconds)
    return buckets.filter { !isFull($0.value, at: now) }.map { standing(of: $0, $1, at: now) }.sorted {
      ($0.caller.uid ?? 0, $0.caller.client ?? "") < ($1.caller.uid ?? 0, $1.caller.client ?? "")
    }
  }

  /// The standing of one caller: what is left of the rate. Reserves nothing.
  package func standing(of caller: Caller, at milliseconds: UInt64) -> Standing {
    standing(of: caller, buckets[caller] ?? Bucket(), at: ticks(milliseconds))
  }

  private func standing(of caller: Caller, _ bucket: Bucket, at now: UInt64) -> Standing {
    Standing(
      caller: caller, left: (capacity &- min(used(bucket, at: now), capacity)) / cost,
      wait: wait(bucket, at: now) ?? 0)
  }

  var bucketCount: Int { buckets.count }

  // MARK: the arithmetic

  // A tick is a millisecond divided by the number of requests, so that nothing is ever rounded.
  private var perMillisecond: UInt64 { UInt64(rate.requests) }
  /// The cost of one request, in ticks.
  private var cost: UInt64 { rate.period.milliseconds }
  private var capacity: UInt64 { cost &* perMillisecond }

  private func used(_ bucket: Bucket, at now: UInt64) -> UInt64 {
    sum(bucket.fullAt > now ? bucket.fullAt &- now : 0, bucket.reserved &* cost)
  }

  private func isFull(_ bucket: Bucket, at now: UInt64) -> Bool { bucket.fullAt <= now && bucket.reserved == 0 }

  /// Milliseconds until there is room for one more; nil: there is.
  private func wait(_ bucket: Bucket, at now: UInt64) -> UInt64? {
    let wanted = sum(used(bucket, at: now), cost)
    guard wanted > capacity else { return nil }
    let missing = wanted &- capacity
    return missing / perMillisecond &+ (missing % perMillisecond == 0 ? 0 : 1)
  }

  private func ticks(_ milliseconds: UInt64) -> UInt64 {
    let (product, overflow) = milliseconds.multipliedReportingOverflow(by: perMillisecond)
    return overflow ? .max : product
  }

  private func sum(_ one: UInt64, _ other: UInt64) -> UInt64 {
    let (sum, overflow) = one.addingReportingOverflow(other)
    return overflow ? .max : sum
  }

  private func makeRoom(at now: UInt64) {
    guard buckets.count >= sweepAt else { return }
    buckets = buckets.filter { !isFull($0.value, at: now) }
    sweepAt = max(RateLimiter.fewest, buckets.count &* 2)
  }
}
