import Lifecycle
import Testing

@Suite struct RenewalStatusTests {
  private func granted(lifetime: UInt64?, at now: UInt64 = 1_000) -> Renewal {
    var renewal = Renewal(settings: RenewalSettings(), needsLogin: false)
    let number = renewal.request(at: now).1.requestToken!
    _ = renewal.granted(Granted(lifetime: lifetime), number: number, at: now + 5, chance: 0)
    return renewal
  }

  @Test func `the status predicts the verdict of the next request`() {
    let renewal = granted(lifetime: 100_000)
    for now in stride(from: 1_000 as UInt64, to: 130_000, by: 500) {
      var copy = renewal
      let outlook = renewal.status(at: now)
      let (verdict, actions) = copy.request(at: now)
      #expect((verdict == .use(1)) == (now < outlook.usableUntil), "\(now)")
      let isDue = outlook.renewAt.map { now >= $0 } ?? false
      #expect((actions.requestToken != nil) == (isDue || now >= outlook.usableUntil), "\(now)")
    }
  }

  @Test func `a token without a lifetime is usable forever and never renewed`() {
    let outlook = granted(lifetime: nil).status(at: 5_000_000)
    #expect(outlook.usableUntil == .max && outlook.renewAt == nil && outlook.reason == nil)
  }

  @Test func `a token requested before a logout is discarded`() {
    var renewal = Renewal(settings: RenewalSettings(), needsLogin: false)
    let number = renewal.request(at: 0).1.requestToken!
    #expect(renewal.expects(number) && !renewal.expects(number + 1))
    _ = renewal.logout()
    #expect(!renewal.expects(number))
    #expect(renewal.granted(Granted(lifetime: nil), number: number, at: 10, chance: 0).isDiscarded)
    #expect(renewal.status(at: 10).reason == .loginRequired && renewal.status(at: 10).usableUntil == 0)
  }

  @Test func `reading the status changes nothing`() {
    var renewal = Renewal(settings: RenewalSettings(), needsLogin: false)
    for _ in 0..<20 { #expect(renewal.status(at: 1_000) == Renewal.Status()) }
    #expect(renewal.request(at: 1_000).1.requestToken == 1)
    #expect(renewal.status(at: 1_001).isRenewing)
  }

  @Test func `a failure is the reported reason until its back-off ends`() {
    var renewal = Renewal(settings: RenewalSettings(), needsLogin: false)
    let number = renewal.request(at: 0).1.requestToken!
    _ = renewal.failed(.transient(retryAfter: nil), number: number, at: 10, chance: 0)
    guard case .unavailable(let until) = renewal.status(at: 20).reason else {
      Issue.record("\(renewal.status(at: 20))")
      return
    }
    #expect(renewal.status(at: until).reason == nil)
  }

  @Test func `a new login allows another renewal, a new client secret does not`() {
    var renewal = Renewal(settings: RenewalSettings(), needsLogin: false)
    let number = renewal.request(at: 0).1.requestToken!
    _ = renewal.failed(.final, number: number, at: 10, chance: 0)
    renewal.changed()
    #expect(renewal.request(at: 20).0 == .refused(.loginRequired))
    renewal.changed(brings: true)
    #expect(renewal.request(at: 20).0 == .wait)
  }
}
