import Lifecycle
import Testing

private let half: UInt64 = 1 << 63

/// One at a time, ahead of the end, and never a request with what has expired.
@Suite struct RenewalTests {
  private var renewal = Renewal(settings: RenewalSettings(), needsLogin: false)

  private func granted(_ seconds: UInt64?, stored: Bool = false) -> Granted {
    Granted(lifetime: seconds.map { $0 * 1_000 }, hasToBeStored: stored)
  }

  @Test
  mutating func `the first request asks, and all wait for the one answer`() {
    let (verdict, actions) = renewal.request(at: 0)
    #expect(verdict == .wait && actions.ask == 1)
    for now in 1..<50 {
      let (verdict, actions) = renewal.request(at: UInt64(now))
      #expect(verdict == .wait && actions == Renewal.Actions())
    }
    let answer = renewal.granted(granted(3600), number: 1, at: 100, chance: half)
    #expect(answer.publish == 1 && answer.releases)
    #expect(renewal.request(at: 101).0 == .use(1))
  }

  @Test
  mutating func `a token is renewed while it is still used, and not used when it may have expired`() {
    _ = renewal.request(at: 0)
    _ = renewal.granted(granted(3600), number: 1, at: 5_000, chance: half)
    // It counts from when the server was asked: 3,600 s less 10, and 45 before that.
    #expect(renewal.request(at: 3_544_999).1.ask == nil)
    let (verdict, actions) = renewal.request(at: 3_545_000)
    #expect(verdict == .use(1) && actions.ask == 2)
    #expect(renewal.request(at: 3_589_999).0 == .use(1))
    #expect(renewal.request(at: 3_590_000).0 == .wait)
  }

  @Test(arguments: zip([0, UInt64.max], [3_530_000, 3_560_000] as [UInt64]))
  mutating func `nobody renews in the same moment as everybody else`(chance: UInt64, at: UInt64) {
    _ = renewal.request(at: 0)
    _ = renewal.granted(granted(3600), number: 1, at: 0, chance: chance)
    #expect(renewal.request(at: at - 2).1.ask == nil)
    #expect(renewal.request(at: at).1.ask == 2)
  }

  @Test
  mutating func `a token without an end is used until it is rejected`() {
    _ = renewal.request(at: 0)
    _ = renewal.granted(granted(nil), number: 1, at: 0, chance: half)
    #expect(renewal.request(at: .max / 2) == (.use(1), Renewal.Actions()))
    #expect(renewal.rejected(1, at: .max / 2).1.ask == 2)
  }

  @Test
  mutating func `a token with no time left is not used: requests wait for the next one, and the one before goes on`() {
    _ = renewal.request(at: 0)
    let first = renewal.granted(granted(0), number: 1, at: 100, chance: 0)
    #expect(first.tellsEnded && first.publish == nil && !first.releases)
    #expect(renewal.request(at: 101).0 == .wait && renewal.deadline == 1_100)
    #expect(renewal.tick(at: 1_099) == Renewal.Actions())
    #expect(renewal.tick(at: 1_100).ask == 2)
    let good = renewal.granted(granted(100), number: 2, at: 1_200, chance: half)
    #expect(good.publish == 1 && good.releases && renewal.request(at: 1_201).0 == .use(1))
    // Ahead of its end it is still good, whatever the server says meanwhile.
    #expect(renewal.request(at: 89_000).1.ask == 3)
    #expect(renewal.granted(granted(0), number: 3, at: 89_001, chance: 0).tellsEnded)
    #expect(renewal.request(at: 89_002).0 == .use(1))
  }

  @Test
  mutating func `a server whose tokens have always ended is asked less and less often, and requests hear of it`() {
    _ = renewal.request(at: 0)
    _ = renewal.granted(granted(0), number: 1, at: 0, chance: 0)
    #expect(renewal.tick(at: 1_000).ask == 2)
    #expect(renewal.granted(granted(0), number: 2, at: 1_000, chance: 0).releases)
    #expect(renewal.request(at: 1_001).0 == .refused(.unavailable(until: 3_000)))
    #expect(renewal.request(at: 3_000).1.ask == 3)
    _ = renewal.granted(granted(0), number: 3, at: 3_000, chance: 0)
    #expect(renewal.request(at: 3_001).0 == .refused(.unavailable(until: 7_000)))
  }

  @Test
  mutating func `the refresh token beside a token with no time left is stored`() {
    _ = renewal.request(at: 0)
    #expect(renewal.granted(granted(0, stored: true), number: 1, at: 0, chance: 0).store == 1)
    let stored = renewal.stored(number: 1, at: 10, chance: 0)
    #expect(stored.tellsEnded && stored.publish == nil)
  }

  @Test
  mutating func `while the server is down a token is used to its end, and then nothing goes out`() {
    _ = renewal.request(at: 0)
    _ = renewal.granted(granted(100), number: 1, at: 0, chance: half)
    #expect(renewal.request(at: 80_000).1.ask == 2)
    let failed = renewal.failed(.transient(retryAfter: nil), number: 2, at: 80_100, chance: 0)
    #expect(failed.releases && renewal.failures == 1)
    #expect(renewal.request(at: 80_200) == (.use(1), Renewal.Actions()))
    #expect(renewal.request(at: 81_100).1.ask == 3)
    _ = renewal.failed(.transient(retryAfter: 60_000), number: 3, at: 89_000, chance: 0)
    #expect(renewal.request(at: 89_999).0 == .use(1))
    #expect(renewal.request(at: 90_000).0 == .refused(.unavailable(until: 149_000)))
    #expect(renewal.request(at: 149_000).1.ask == 4)
  }

  @Test
  mutating func `pauses double to a limit, and a success ends them`() {
    var now: UInt64 = 0
    var pauses: [UInt64] = []
    for number in 1...12 {
      #expect(renewal.request(at: now).1.ask == UInt64(number))
      _ = renewal.failed(.transient(retryAfter: nil), number: UInt64(number), at: now, chance: 0)
      guard case .refused(.unavailable(let until)) = renewal.request(at: now).0 else { break }
      pauses.append(until - now)
      now = max(until, now + 7_000)
    }
    #expect(pauses.map { $0 / 1_000 } == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300])
    _ = renewal.request(at: now)
    _ = renewal.granted(granted(60), number: 13, at: now, chance: 0)
    #expect(renewal.failures == 0)
  }

  @Test
  mutating func `a late rejection of the old token gets the newer one, without asking`() {
    _ = renewal.request(at: 0)
    _ = renewal.granted(granted(3600), number: 1, at: 0, chance: half)
    for _ in 0..<50 {
      let (verdict, actions) = renewal.rejected(1, at: 1_000)
      #expect(verdict == .wait && (actions.ask ?? 2) == 2)
    }
    #expect(renewal.request(at: 1_001).0 == .wait)
    _ = renewal.granted(granted(3600), number: 2, at: 1_500, chance: half)
    #expect(renewal.rejected(1, at: 1_600) == (.use(2), Renewal.Actions()))
  }

  @Test
  mutating func
    `T67: a token that was rejected is not offered again, and another one is asked for as soon as that may be`()
  {
    _ = renewal.request(at: 0)
    _ = renewal.granted(granted(3600), number: 1, at: 0, chance: half)
    #expect(renewal.rejected(1, at: 1_000).0 == .wait)
    _ = renewal.failed(.transient(retryAfter: nil), number: 2, at: 1_100, chance: 0)
    #expect(renewal.request(at: 1_200).0 == .refused(.unavailable(until: 2_100)))
    #expect(renewal.outlook(at: 1_200).usableUntil == 0)
    #expect(renewal.rejected(1, at: 1_300).0 == .refused(.unavailable(until: 2_100)))
    #expect(renewal.request(at: 2_100).1.ask == 3)
    _ = renewal.failed(.final, number: 3, at: 2_200, chance: 0)
    #expect(renewal.request(at: 2_300).0 == .refused(.loginRequired))
    // A person has placed another refresh token.
    renewal.changed(brings: true)
    #expect(renewal.request(at: 2_400).1.ask == 4)
    _ = renewal.granted(granted(3600), number: 4, at: 2_500, chance: half)
    #expect(renewal.request(at: 2_600).0 == .use(2))
  }

  @Test
  mutating func `a server whose tokens are never accepted is asked five times in half a minute`() {
    var asked = 0
    for now in stride(from: UInt64(0), to: 30_000, by: 10) {
      let generation = renewal.generation ?? 0
      let actions = generation == 0 ? renewal.request(at: now).1 : renewal.rejected(generation, at: now).1
      guard let number = actions.ask else { continue }
      asked += 1
      _ = renewal.granted(granted(3600), number: number, at: now + 1, chance: half)
    }
    #expect(asked == 5)
    #expect(renewal.rejected(5, at: 29_999).0 == .refused(.storm(until: 30_000)))
    #expect(renewal.rejected(5, at: 30_000).1.ask == 6)
    _ = renewal.granted(granted(3600), number: 6, at: 30_001, chance: half)
    #expect(renewal.rejected(6, at: 30_001).0 == .refused(.storm(until: 30_010)))
  }

  @Test
  mutating func `tokens that live for seconds are renewed as often as they end`() {
    var asked = 0
    for now in stride(from: UInt64(0), to: 60_000, by: 10) {
      let (verdict, actions) = renewal.request(at: now)
      #expect(actions.ask != nil || verdict != .wait, "at \(now)")
      if let number = actions.ask {
        asked += 1
        _ = renewal.granted(granted(3), number: number, at: now + 1, chance: half)
      }
    }
    #expect((20...40).contains(asked))
  }

  @Test
  mutating func `a token that has expired when it comes is not used`() {
    for number in 1...5 {
      let now = UInt64(number) * 2_000
      #expect(renewal.request(at: now).1.ask == UInt64(number))
      _ = renewal.granted(granted(1), number: UInt64(number), at: now + 1_000, chance: half)
    }
    #expect(renewal.request(at: 13_000).0 == .refused(.storm(until: 32_000)))
  }

  @Test
  mutating func `invalid_grant: a person is asked for once, and the server no more`() {
    _ = renewal.request(at: 0)
    let actions = renewal.failed(.final, number: 1, at: 10, chance: 0)
    #expect(actions.tellsLoginRequired && actions.releases)
    for now in stride(from: UInt64(0), to: 10_000_000, by: 100_000) {
      #expect(renewal.request(at: now) == (.refused(.loginRequired), Renewal.Actions()))
    }
    let login = renewal.loggedIn(granted(60), since: 10_000_000, chance: half)
    #expect(login.publish == 1 && renewal.request(at: 10_000_001).0 == .use(1))
  }

  @Test
  func `nothing to renew with: nobody is asked`() {
    var renewal = Renewal(settings: RenewalSettings(), needsLogin: true)
    #expect(renewal.request(at: 0) == (.refused(.loginRequired), Renewal.Actions()))
  }

  @Test
  mutating func `a new refresh token is on disk before the token that came with it is used`() {
    _ = renewal.request(at: 0)
    let actions = renewal.granted(granted(3600, stored: true), number: 1, at: 1, chance: half)
    #expect(actions.store == 1 && actions.publish == nil && !actions.releases)
    #expect(renewal.request(at: 2).0 == .wait)
    let failed = renewal.storingFailed(number: 1, at: 3, chance: 0)
    #expect(failed.releases)
    #expect(renewal.request(at: 4).0 == .refused(.notStored(until: 1_003)))
    #expect(renewal.deadline == 1_003)
    // Without a request: what is only in memory could get lost.
    #expect(renewal.tick(at: 1_003).store == 1)
    #expect(renewal.stored(number: 1, at: 1_010, chance: half).publish == 1)
    #expect(renewal.request(at: 1_011).0 == .use(1))
  }

  @Test
  mutating func `after a logout nothing goes out, and what was on its way is revoked`() {
    _ = renewal.request(at: 0)
    _ = renewal.granted(granted(100), number: 1, at: 0, chance: half)
    #expect(renewal.request(at: 80_000).1.ask == 2)
    #expect(renewal.logout().releases)
    #expect(renewal.request(at: 80_001) == (.refused(.loginRequired), Renewal.Actions()))
    #expect(renewal.granted(granted(100, stored: true), number: 2, at: 80_002, chance: half).isDiscarded)
    #expect(renewal.request(at: 80_003).0 == .refused(.loginRequired))
    #expect(renewal.loggedIn(granted(100), since: 80_004, chance: half).publish == 2)
  }

  @Test
  mutating func `numbers at the end of their range are no trap`() {
    var settings = RenewalSettings()
    settings.longestRetryAfter = .max
    settings.backOff = BackOff(first: .max, longest: .max)
    renewal = Renewal(settings: settings, needsLogin: false)
    _ = renewal.request(at: .max)
    _ = renewal.failed(.transient(retryAfter: .max), number: 1, at: .max, chance: .max)
    #expect(renewal.request(at: .max).1.ask == 2)
    _ = renewal.granted(Granted(lifetime: .max), number: 2, at: .max, chance: .max)
    _ = renewal.request(at: .max)
  }
}
