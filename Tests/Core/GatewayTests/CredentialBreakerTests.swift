import Gateway
import Policy
import Testing

@Suite struct CredentialBreakerTests {
  /// Requests in sequence or in parallel, and the breaker's decisions.
  private final class Play {
    var breaker = CredentialBreaker()
    var suspension = Suspension()
    var now: UInt64 = 0
    var out: [CredentialBreaker.Permission] = []

    init(after: Int = 3, time: UInt64 = 1_000) {
      suspension.after = after
      suspension.time = time
      _ = breaker.update(secretVersion: 1)
    }

    /// Starts a request. Returns whether the breaker permits it.
    func begin() -> Bool {
      guard let permission = breaker.acquirePermission(suspension, at: now) else { return false }
      out.append(permission)
      return true
    }

    /// Ends the oldest request with this status.
    func end(_ status: Int) -> CredentialBreaker.Change? {
      breaker.recordVerdict(CredentialVerdict(status: status), for: out.removeFirst(), suspension, at: now)
    }

    func request(_ status: Int) -> CredentialBreaker.Change? { begin() ? end(status) : nil }
  }

  @Test func `T41: after several rejections in a row requests are suspended, then one probe is sent`() {
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

  @Test func `T41: a success resets the count of rejections, and an unrelated status does not`() {
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

  @Test func `T41: single 403 responses do not suspend a credential, and 30 in a row do`() {
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

  @Test func `T41: each rejected probe doubles the suspension, up to an hour`() {
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

  @Test func `T41: a new value is sent immediately, and responses to the old value do not count`() {
    let play = Play(after: 1)
    #expect(play.begin() && play.begin() && play.begin())
    #expect(play.end(401) == .suspended(time: 1_000))
    #expect(play.breaker.update(secretVersion: 2) == .renewed)
    #expect(play.breaker.update(secretVersion: 2) == nil)
    #expect(play.end(401) == nil)
    #expect(play.begin())
    #expect(play.end(200) == nil)
    #expect(play.breaker.state == .closed && play.breaker.rejections == 0)
  }

  @Test func `T41: requests sent before a suspension neither prolong it nor count as the probe`() {
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

  @Test func `T41: after an unsent or inconclusive probe, the next request is the probe`() {
    let play = Play(after: 1)
    _ = play.request(401)
    play.now = 1_000
    #expect(play.begin())
    play.breaker.releasePermission(play.out.removeFirst(), at: play.now)
    #expect(play.begin())
    #expect(play.end(503) == nil)
    #expect(play.begin())
    // A probe that never ends does not block other requests forever.
    #expect(play.breaker.wait(at: play.now) == 1_000)
    play.now = 2_000
    #expect(play.begin())
    #expect(!play.begin())
  }

  @Test func `T41: extreme times and numbers do not trap`() {
    let play = Play(after: 1, time: .max)
    play.now = .max
    #expect(play.request(401) == .suspended(time: .max))
    _ = play.breaker.wait(at: 0)
    _ = play.begin()
    let many = Play(after: .max)
    for _ in 0..<100 { #expect(many.request(401) == nil) }
  }
}
