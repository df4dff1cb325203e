import Lifecycle
import Testing

private let half: UInt64 = 1 << 63

@Suite struct RenewalTests {
  private var renewal = Renewal(settings: RenewalSettings(), needsLogin: false)

  private func granted(_ seconds: UInt64?, stored: Bool = false) -> Granted {
    Granted(lifetime: seconds.map { $0 * 1_000 }, hasToBeStored: stored)
  }

  @Test mutating func `the first request starts a renewal, and all requests wait for the same result`() {
    let (verdict, actions) = renewal.request(at: 0)
    #expect(verdict == .wait && actions.requestToken == 1)
    for now in 1..<50 {
      let (verdict, actions) = renewal.request(at: UInt64(now))
      #expect(verdict == .wait && actions == Renewal.Actions())
    }
    let first = renewal.granted(granted(3600), number: 1, at: 100, chance: half)
    #expect(first.publish == 1 && first.releases)
    #expect(renewal.request(at: 101).0 == .use(1))
  }

  @Test mutating func `a token is renewed before it expires, and is never used after its expiry`() {
    _ = renewal.request(at: 0)
    _ = renewal.granted(granted(3600), number: 1, at: 5_000, chance: half)
    // The lifetime counts from the request for the token: it ends after 3,590 s, and the renewal begins 45 s before.
    #expect(renewal.request(at: 3_544_999).1.requestToken == nil)
    let (verdict, actions) = renewal.request(at: 3_545_000)
    #expect(verdict == .use(1) && actions.requestToken == 2)
    #expect(renewal.request(at: 3_589_999).0 == .use(1))
    #expect(renewal.request(at: 3_590_000).0 == .wait)
  }

  @Test(arguments: zip([0, UInt64.max], [3_530_000, 3_560_000] as [UInt64]))
  mutating func `renewal times are spread at random`(chance: UInt64, at: UInt64) {
    _ = renewal.request(at: 0)
    _ = renewal.granted(granted(3600), number: 1, at: 0, chance: chance)
    #expect(renewal.request(at: at - 2).1.requestToken == nil)
    #expect(renewal.request(at: at).1.requestToken == 2)
  }

  @Test mutating func `a token without a lifetime is used until the upstream rejects it`() {
    _ = renewal.request(at: 0)
    _ = renewal.granted(granted(nil), number: 1, at: 0, chance: half)
    #expect(renewal.request(at: .max / 2) == (.use(1), Renewal.Actions()))
    #expect(renewal.rejected(1, at: .max / 2).1.requestToken == 2)
  }

  @Test mutating func `a token that arrives expired is not used, and an earlier valid token stays in use`() {
    _ = renewal.request(at: 0)
    let first = renewal.granted(granted(0), number: 1, at: 100, chance: 0)
    #expect(first.reportsExpiredGrant && first.publish == nil && !first.releases)
    #expect(renewal.request(at: 101).0 == .wait && renewal.deadline == 1_100)
    #expect(renewal.tick(at: 1_099) == Renewal.Actions())
    #expect(renewal.tick(at: 1_100).requestToken == 2)
    let good = renewal.granted(granted(100), number: 2, at: 1_200, chance: half)
    #expect(good.publish == 1 && good.releases && renewal.request(at: 1_201).0 == .use(1))
    // An expired new token does not affect the valid one.
    #expect(renewal.request(at: 89_000).1.requestToken == 3)
    #expect(renewal.granted(granted(0), number: 3, at: 89_001, chance: 0).reportsExpiredGrant)
    #expect(renewal.request(at: 89_002).0 == .use(1))
  }

  @Test mutating func `a server that only issues expired tokens is asked less often, and requests are refused`() {
    _ = renewal.request(at: 0)
    _ = renewal.granted(granted(0), number: 1, at: 0, chance: 0)
    #expect(renewal.tick(at: 1_000).requestToken == 2)
    #expect(renewal.granted(granted(0), number: 2, at: 1_000, chance: 0).releases)
    #expect(renewal.request(at: 1_001).0 == .refused(.unavailable(until: 3_000)))
    #expect(renewal.request(at: 3_000).1.requestToken == 3)
    _ = renewal.granted(granted(0), number: 3, at: 3_000, chance: 0)
    #expect(renewal.request(at: 3_001).0 == .refused(.unavailable(until: 7_000)))
  }

  @Test mutating func `a refresh token is stored even if its access token has already expired`() {
    _ = renewal.request(at: 0)
    #expect(renewal.granted(granted(0, stored: true), number: 1, at: 0, chance: 0).store == 1)
    let stored = renewal.stored(number: 1, at: 10, chance: 0)
    #expect(stored.reportsExpiredGrant && stored.publish == nil)
  }

  @Test mutating func `while the token server is down, a token is used until it expires`() {
    _ = renewal.request(at: 0)
    _ = renewal.granted(granted(100), number: 1, at: 0, chance: half)
    #expect(renewal.request(at: 80_000).1.requestToken == 2)
    let failed = renewal.failed(.transient(retryAfter: nil), number: 2, at: 80_100, chance: 0)
    #expect(failed.releases && renewal.failures == 1)
    #expect(renewal.request(at: 80_200) == (.use(1), Renewal.Actions()))
    #expect(renewal.request(at: 81_100).1.requestToken == 3)
    _ = renewal.failed(.transient(retryAfter: 60_000), number: 3, at: 89_000, chance: 0)
    #expect(renewal.request(at: 89_999).0 == .use(1))
    #expect(renewal.request(at: 90_000).0 == .refused(.unavailable(until: 149_000)))
    #expect(renewal.request(at: 149_000).1.requestToken == 4)
  }

  @Test mutating func `pauses after failures double up to a limit, and a success resets them`() {
    var now: UInt64 = 0
    var pauses: [UInt64] = []
    for number in 1...12 {
      #expect(renewal.request(at: now).1.requestToken == UInt64(number))
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

  @Test mutating func `a late rejection of an old token gets the newer token without a renewal`() {
    _ = renewal.request(at: 0)
    _ = renewal.granted(granted(3600), number: 1, at: 0, chance: half)
    for _ in 0..<50 {
      let (verdict, actions) = renewal.rejected(1, at: 1_000)
      #expect(verdict == .wait && (actions.requestToken ?? 2) == 2)
    }
    #expect(renewal.request(at: 1_001).0 == .wait)
    _ = renewal.granted(granted(3600), number: 2, at: 1_500, chance: half)
    #expect(renewal.rejected(1, at: 1_600) == (.use(2), Renewal.Actions()))
  }

  @Test mutating func `T67: a rejected token is not used again, and a renewal starts as soon as the back-off allows`() {
    _ = renewal.request(at: 0)
    _ = renewal.granted(granted(3600), number: 1, at: 0, chance: half)
    #expect(renewal.rejected(1, at: 1_000).0 == .wait)
    _ = renewal.failed(.transient(retryAfter: nil), number: 2, at: 1_100, chance: 0)
    #expect(renewal.request(at: 1_200).0 == .refused(.unavailable(until: 2_100)))
    #expect(renewal.status(at: 1_200).usableUntil == 0)
    #expect(renewal.rejected(1, at: 1_300).0 == .refused(.unavailable(until: 2_100)))
    #expect(renewal.request(at: 2_100).1.requestToken == 3)
    _ = renewal.failed(.final, number: 3, at: 2_200, chance: 0)
    #expect(renewal.request(at: 2_300).0 == .refused(.loginRequired))
    // The user has replaced the refresh token.
    renewal.changed(brings: true)
    #expect(renewal.request(at: 2_400).1.requestToken == 4)
    _ = renewal.granted(granted(3600), number: 4, at: 2_500, chance: half)
    #expect(renewal.request(at: 2_600).0 == .use(2))
  }

  @Test mutating func `a server whose tokens are always rejected is asked at most five times in 30 seconds`() {
    var asked = 0
    for now in stride(from: UInt64(0), to: 30_000, by: 10) {
      let generation = renewal.tokenVersion ?? 0
      let actions = generation == 0 ? renewal.request(at: now).1 : renewal.rejected(generation, at: now).1
      guard let number = actions.requestToken else { continue }
      asked += 1
      _ = renewal.granted(granted(3600), number: number, at: now + 1, chance: half)
    }
    #expect(asked == 5)
    #expect(renewal.rejected(5, at: 29_999).0 == .refused(.tooManyRenewals(until: 30_000)))
    #expect(renewal.rejected(5, at: 30_000).1.requestToken == 6)
    _ = renewal.granted(granted(3600), number: 6, at: 30_001, chance: half)
    #expect(renewal.rejected(6, at: 30_001).0 == .refused(.tooManyRenewals(until: 30_010)))
  }

  @Test mutating func `tokens that live for seconds are renewed each time they expire`() {
    var asked = 0
    for now in stride(from: UInt64(0), to: 60_000, by: 10) {
      let (verdict, actions) = renewal.request(at: now)
      #expect(actions.requestToken != nil || verdict != .wait, "at \(now)")
      if let number = actions.requestToken {
        asked += 1
        _ = renewal.granted(granted(3), number: number, at: now + 1, chance: half)
      }
    }
    #expect((20...40).contains(asked))
  }

  @Test mutating func `a token that expires during its renewal is not used`() {
    for number in 1...5 {
      let now = UInt64(number) * 2_000
      #expect(renewal.request(at: now).1.requestToken == UInt64(number))
      _ = renewal.granted(granted(1), number: UInt64(number), at: now + 1_000, chance: half)
    }
    #expect(renewal.request(at: 13_000).0 == .refused(.tooManyRenewals(until: 32_000)))
  }

  @Test mutating func `after invalid_grant, a login is requested once, and the server is not asked again`() {
    _ = renewal.request(at: 0)
    let actions = renewal.failed(.final, number: 1, at: 10, chance: 0)
    #expect(actions.reportsLoginRequired && actions.releases)
    for now in stride(from: UInt64(0), to: 10_000_000, by: 100_000) {
      #expect(renewal.request(at: now) == (.refused(.loginRequired), Renewal.Actions()))
    }
    let login = renewal.loggedIn(granted(60), since: 10_000_000, chance: half)
    #expect(login.publish == 1 && renewal.request(at: 10_000_001).0 == .use(1))
  }

  @Test func `without a refresh token no renewal starts`() {
    var renewal = Renewal(settings: RenewalSettings(), needsLogin: true)
    #expect(renewal.request(at: 0) == (.refused(.loginRequired), Renewal.Actions()))
  }

  @Test mutating func `a new refresh token is stored before its access token is used`() {
    _ = renewal.request(at: 0)
    let actions = renewal.granted(granted(3600, stored: true), number: 1, at: 1, chance: half)
    #expect(actions.store == 1 && actions.publish == nil && !actions.releases)
    #expect(renewal.request(at: 2).0 == .wait)
    let failed = renewal.storingFailed(number: 1, at: 3, chance: 0)
    #expect(failed.releases)
    #expect(renewal.request(at: 4).0 == .refused(.notStored(until: 1_003)))
    #expect(renewal.deadline == 1_003)
    // The store is repeated without a request, because a token in memory could be lost.
    #expect(renewal.tick(at: 1_003).store == 1)
    #expect(renewal.stored(number: 1, at: 1_010, chance: half).publish == 1)
    #expect(renewal.request(at: 1_011).0 == .use(1))
  }

  @Test mutating func `after a logout requests are refused, and a token that arrives late is discarded`() {
    _ = renewal.request(at: 0)
    _ = renewal.granted(granted(100), number: 1, at: 0, chance: half)
    #expect(renewal.request(at: 80_000).1.requestToken == 2)
    #expect(renewal.logout().releases)
    #expect(renewal.request(at: 80_001) == (.refused(.loginRequired), Renewal.Actions()))
    #expect(renewal.granted(granted(100, stored: true), number: 2, at: 80_002, chance: half).isDiscarded)
    #expect(renewal.request(at: 80_003).0 == .refused(.loginRequired))
    #expect(renewal.loggedIn(granted(100), since: 80_004, chance: half).publish == 2)
  }

  @Test mutating func `extreme numbers do not overflow`() {
    var settings = RenewalSettings()
    settings.longestRetryAfter = .max
    settings.backOff = BackOff(first: .max, longest: .max)
    renewal = Renewal(settings: settings, needsLogin: false)
    _ = renewal.request(at: .max)
    _ = renewal.failed(.transient(retryAfter: .max), number: 1, at: .max, chance: .max)
    #expect(renewal.request(at: .max).1.requestToken == 2)
    _ = renewal.granted(Granted(lifetime: .max), number: 2, at: .max, chance: .max)
    _ = renewal.request(at: .max)
  }
}
