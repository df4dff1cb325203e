@testable import Gateway
@testable import Policy
import Testing

@Suite struct RateLimiterTests {
  private let me = Caller(uid: 1_000)

  private func limiter(_ requests: UInt32, _ period: Rate.Period) -> RateLimiter {
    RateLimiter(.init(service: "a", pattern: nil, methods: nil), Rate(requests: requests, per: period))
  }

  /// Sends `count` requests, and returns how many the limiter permits.
  private func send(_ limiter: RateLimiter, _ count: Int, as caller: Caller, at now: UInt64) -> Int {
    (0..<count).reduce(0) { sent, _ in
      guard limiter.reserve(for: caller, at: now) == nil else { return sent }
      limiter.spend(caller, at: now)
      return sent + 1
    }
  }

  private func left(_ limiter: RateLimiter, _ caller: Caller, at now: UInt64) -> UInt64? {
    limiter.usages(at: now).first { $0.caller == caller }?.left
  }

  @Test func `T8: requests up to the rate pass immediately, then one at a time`() {
    let limiter = limiter(60, .minute)
    #expect(send(limiter, 100, as: me, at: 5_000) == 60)
    #expect(limiter.reserve(for: me, at: 5_000) == 1_000)
    #expect(limiter.reserve(for: me, at: 5_400) == 600)
    #expect(limiter.reserve(for: me, at: 5_999) == 1)
    #expect(send(limiter, 100, as: me, at: 6_000) == 1)
    #expect(send(limiter, 100, as: me, at: 16_500) == 10)
    #expect(limiter.reserve(for: me, at: 16_500) == 500)
    #expect(send(limiter, 100, as: me, at: 1_000_000) == 60, "not more for having waited longer")
  }

  @Test func `T8: each user and each client has its own budget`() throws {
    let limiter = limiter(2, .hour)
    let ci = me.authenticated(as: "ci")
    for caller in [me, ci, Caller(uid: 1_001), Caller.network.authenticated(as: "ci")] {
      #expect(send(limiter, 5, as: caller, at: 0) == 2)
    }
    #expect(limiter.usages(at: 0).count == 4)
    #expect(limiter.usages(at: 0).allSatisfy { $0.left == 0 && $0.wait == 1_800_000 })
    #expect(limiter.usages(at: 3_600_000).isEmpty)
  }

  @Test func `T8: a released reservation costs nothing and gains nothing`() {
    let limiter = limiter(3, .second)
    for _ in 0..<3 { #expect(limiter.reserve(for: me, at: 0) == nil) }
    #expect(limiter.reserve(for: me, at: 0) == 334)
    #expect(limiter.reserve(for: me, at: 900) != nil, "what is reserved does not fill up")
    limiter.spend(me, at: 1_000)
    limiter.release(for: me)
    limiter.release(for: me)
    limiter.release(for: me)
    #expect(left(limiter, me, at: 1_000) == 2)
    #expect(send(limiter, 5, as: me, at: 1_000) == 2)
    // Without a reservation, spending and releasing have no effect.
    limiter.spend(Caller(uid: 7), at: 0)
    limiter.release(for: Caller(uid: 7))
    #expect(limiter.bucketCount == 1)
  }

  @Test func `T8: a rate that does not divide its period has no rounding error`() {
    let limiter = limiter(7, .second)
    var sent = 0
    for now in UInt64(0)..<100_000 { sent += send(limiter, 3, as: me, at: now) }
    #expect(sent == 7 + 7 * 100 - 1)
  }

  @Test func `T8: extreme numbers and times do not trap`() {
    let times: [UInt64] = [0, 1, 86_400_000, .max / 1_000_000, .max / 1_000_000 + 1, .max - 1, .max]
    for period in Rate.Period.allCases {
      for requests: UInt32 in [0, 1, 7, 1_000_000, .max] {
        let limiter = limiter(requests, period)
        for first in times {
          for second in times {
            _ = send(limiter, 2, as: me, at: first)
            _ = limiter.reserve(for: me, at: second)
            _ = limiter.countRefusal(of: me, at: second)
            _ = limiter.usages(at: second)
            limiter.release(for: me)
          }
        }
      }
    }
  }

  @Test func `T8: only buckets that are full again are deleted`() {
    let limiter = limiter(10, .second)
    for uid in UInt32(0)..<10_000 { #expect(send(limiter, 1, as: Caller(uid: uid), at: UInt64(uid)) == 1) }
    #expect(limiter.bucketCount < 250)
    for uid in UInt32(0)..<10_000 { _ = send(limiter, 10, as: Caller(uid: uid), at: 20_000) }
    #expect(limiter.bucketCount == 10_000)
    for uid in UInt32(0)..<10_000 { #expect(limiter.reserve(for: Caller(uid: uid), at: 20_000) != nil) }
  }

  @Test func `T8: refusals are logged immediately, then every ten seconds`() {
    let limiter = limiter(1, .hour)
    _ = send(limiter, 1, as: me, at: 0)
    #expect(limiter.countRefusal(of: me, at: 5) == 1)
    for now: UInt64 in [6, 10_004] { #expect(limiter.countRefusal(of: me, at: now) == nil) }
    #expect(limiter.countRefusal(of: me, at: 10_005) == 3)
  }
}
