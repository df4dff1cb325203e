import Gateway
import Policy
import Testing

/// The breaker, played line by line.
@Suite struct CredentialBreakerTests {
  /// Requests, one behind the other or at once, and what became of them.
  private final class Play {
    var breaker = CredentialBreaker()
    var suspension = Suspension()
    var now: UInt64 = 0
    var out: [CredentialBreaker.Permission] = []

    init(after: Int = 3, time: UInt64 = 1_000) {
      suspension.after = after
      suspension.time = time
      _ = breaker.follow(1)
    }

    /// Whether it was let out.
    func begin() -> Bool {
      guard let permission = breaker.acquirePermission(suspension, at: now) else { return false }
      out.append(permission)
      return true
    }

    /// Of the request that has waited longest.
    func end(_ status: Int) -> CredentialBreaker.Change? {
      breaker.answered(CredentialVerdict(status: status), to: out.removeFirst(), suspension, at: now)
    }

    func request(_ status: Int) -> CredentialBreaker.Change? { begin() ? end(status) : nil }
  }

  @Test func `T41: after so many rejections in a row nothing goes out until the time is over, and then one`() {
    let play = Play()
    #expect(play.request(401) == nil)
    #expect(play.request(407) == nil)
    #expect(play.request(401) == .suspended(time: 1_000))
    #expect(!play.begin())
    #expect(play.breaker.wait(at: 400) == 600)
    play.now = 999
    #expect(!play.begin())
    play.now = 1_000
    #expect(play.begin())
    #expect(!play.begin(), "the probe's answer is not known")
    #expect(play.end(200) == .accepted)
    #expect(play.begin() && play.begin())
  }

  @Test func `T41: a success in between begins anew, what says nothing does not`() {
    for status in [200, 204, 304, 101] {
      let play = Play()
      for status in [401, 401, status, 401, 401] { #expect(play.request(status) == nil) }
      #expect(play.begin(), "\(status)")
    }
    for status in [301, 404, 429, 500, 503] {
      let play = Play()
      for status in [401, status, 401, status] { #expect(play.request(status) == nil) }
      #expect(play.request(401) != nil, "\(status)")
    }
  }

  @Test func `T41: a path that is forbidden does not lock out, a long row of them does`() {
    let play = Play()
    for _ in 0..<1_000 {
      for _ in 0..<29 { #expect(play.request(403) == nil) }
      #expect(play.request(200) == nil)
    }
    for _ in 0..<29 { #expect(play.request(403) == nil) }
    #expect(play.request(403) == .suspended(time: 1_000))
    let mixed = Play()
    for status in [401, 403, 401, 403] { #expect(mixed.request(status) == nil) }
    #expect(mixed.request(401) == .suspended(time: 1_000), "a 403 between them is no success")
  }

  @Test func `T41: each probe that is rejected doubles the time, up to an hour`() {
    let play = Play(after: 1, time: 600_000)
    #expect(play.request(401) == .suspended(time: 600_000))
    for time: UInt64 in [600_000, 1_200_000, 2_400_000, 3_600_000, 3_600_000] {
      #expect(play.breaker.wait(at: play.now) == time)
      play.now += time
      #expect(play.request(401) == nil)
    }
    play.now += 3_600_000
    #expect(play.request(200) == .accepted)
    #expect(play.request(401) == .suspended(time: 600_000), "from the beginning again")
  }

  @Test func `T41: a new value goes out at once, and answers to the old one say nothing of it`() {
    let play = Play(after: 1)
    #expect(play.begin() && play.begin() && play.begin())
    #expect(play.end(401) == .suspended(time: 1_000))
    #expect(play.breaker.follow(2) == .renewed)
    #expect(play.breaker.follow(2) == nil)
    #expect(play.end(401) == nil)
    #expect(play.begin())
    #expect(play.end(200) == nil)
    #expect(play.breaker.state == .closed && play.breaker.rejections == 0)
  }

  @Test func `T41: what was out already when it was held back neither prolongs that nor counts as the probe`() {
    let play = Play(after: 1)
    for _ in 0..<4 { #expect(play.begin()) }
    #expect(play.end(401) == .suspended(time: 1_000))
    play.now = 500
    #expect(play.end(401) == nil)
    #expect(play.breaker.wait(at: 500) == 500)
    play.now = 1_000
    #expect(play.begin())
    #expect(play.end(401) == nil, "an old one")
    #expect(!play.begin(), "the probe is still out")
    #expect(play.end(200) == .accepted, "an old one that was accepted tells as much")
  }

  @Test func `T41: a probe that did not go out, or whose answer says nothing, leaves it to the next one`() {
    let play = Play(after: 1)
    _ = play.request(401)
    play.now = 1_000
    #expect(play.begin())
    play.breaker.releasePermission(play.out.removeFirst(), at: play.now)
    #expect(play.begin())
    #expect(play.end(503) == nil)
    #expect(play.begin())
    // One that never ends does not keep the others back for ever.
    #expect(play.breaker.wait(at: play.now) == 1_000)
    play.now = 2_000
    #expect(play.begin())
    #expect(!play.begin())
  }

  @Test func `T41: no time and no number can make it trap`() {
    let play = Play(after: 1, time: .max)
    play.now = .max
    #expect(play.request(401) == .suspended(time: .max))
    _ = play.breaker.wait(at: 0)
    _ = play.begin()
    let many = Play(after: .max)
    for _ in 0..<100 { #expect(many.request(401) == nil) }
  }
}
