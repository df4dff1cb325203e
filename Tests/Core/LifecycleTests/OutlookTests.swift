import Lifecycle
import Testing

/// What those who do not ask the machine are told is what they would hear.
@Suite struct OutlookTests {
  private func granted(lifetime: UInt64?, at now: UInt64 = 1_000) -> Renewal {
    var renewal = Renewal(settings: RenewalSettings(), needsLogin: false)
    let number = renewal.request(at: now).1.ask!
    _ = renewal.granted(Granted(lifetime: lifetime), number: number, at: now + 5, chance: 0)
    return renewal
  }

  @Test func itSaysWhatARequestHears() {
    let renewal = granted(lifetime: 100_000)
    for now in stride(from: 1_000 as UInt64, to: 130_000, by: 500) {
      var copy = renewal
      let outlook = renewal.outlook(at: now)
      let (verdict, actions) = copy.request(at: now)
      #expect((verdict == .use(1)) == (now < outlook.usableUntil), "\(now)")
      let isDue = outlook.renewAt.map { now >= $0 } ?? false
      #expect((actions.ask != nil) == (isDue || now >= outlook.usableUntil), "\(now)")
    }
  }

  @Test func aTokenWithoutEndHasNone() {
    let outlook = granted(lifetime: nil).outlook(at: 5_000_000)
    #expect(outlook.usableUntil == .max && outlook.renewAt == nil && outlook.reason == nil)
  }

  @Test func whatWasAskedBeforeALogoutIsForNobody() {
    var renewal = Renewal(settings: RenewalSettings(), needsLogin: false)
    let number = renewal.request(at: 0).1.ask!
    #expect(renewal.expects(number) && !renewal.expects(number + 1))
    _ = renewal.logout()
    #expect(!renewal.expects(number))
    #expect(renewal.granted(Granted(lifetime: nil), number: number, at: 10, chance: 0).isDiscarded)
    #expect(renewal.outlook(at: 10).reason == .loginRequired && renewal.outlook(at: 10).usableUntil == 0)
  }

  @Test func lookingChangesNothing() {
    var renewal = Renewal(settings: RenewalSettings(), needsLogin: false)
    for _ in 0..<20 { #expect(renewal.outlook(at: 1_000) == Renewal.Outlook()) }
    #expect(renewal.request(at: 1_000).1.ask == 1)
    #expect(renewal.outlook(at: 1_001).isRenewing)
  }

  @Test func aFailureIsTheReasonUntilItsRestIsOver() {
    var renewal = Renewal(settings: RenewalSettings(), needsLogin: false)
    let number = renewal.request(at: 0).1.ask!
    _ = renewal.failed(.transient(retryAfter: nil), number: number, at: 10, chance: 0)
    guard case .unavailable(let until) = renewal.outlook(at: 20).reason else {
      Issue.record("\(renewal.outlook(at: 20))")
      return
    }
    #expect(renewal.outlook(at: until).reason == nil)
  }

  @Test func anotherLoginIsWorthATryAndAnotherSecretOfTheClientIsNot() {
    var renewal = Renewal(settings: RenewalSettings(), needsLogin: false)
    let number = renewal.request(at: 0).1.ask!
    _ = renewal.failed(.final, number: number, at: 10, chance: 0)
    renewal.changed()
    #expect(renewal.request(at: 20).0 == .refused(.loginRequired))
    renewal.changed(brings: true)
    #expect(renewal.request(at: 20).0 == .wait)
  }
}
