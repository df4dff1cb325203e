import Policy
import Testing

@testable import Gateway

/// bearerd remembers rejected values, in case they are configured again (T41).
@Suite struct RejectedValuesTests {
  private let here = try! Origin(parsing: "https://a.test")
  private let there = try! Origin(parsing: "https://b.test")
  private let hour: UInt64 = 3_600_000

  private func breaker(rejections: Int = 1, heldFor time: UInt64? = nil) -> CredentialBreaker {
    var suspension = Suspension()
    if let time { (suspension.after, suspension.time) = (1, time) }
    var breaker = CredentialBreaker()
    _ = breaker.update(secretVersion: 1)
    for _ in 0..<rejections {
      guard let permission = breaker.acquirePermission(suspension, at: 0) else { break }
      _ = breaker.recordVerdict(.rejected, for: permission, suspension, at: 0)
    }
    return breaker
  }

  @Test func `T41: a rejected value is recalled once, and only for its origin`() {
    let values = RejectedValues()
    values.remember(breaker(rejections: 3), of: "value", at: here, now: 0)
    #expect(values.recall("value", at: there, now: 1) == nil)
    #expect(values.recall("other", at: here, now: 1) == nil)
    #expect(values.recall(nil, at: here, now: 1) == nil)
    var known = values.recall("value", at: here, now: 1)
    #expect(known?.rejections == 3)
    known?.setSecretVersion(7)
    #expect(known?.secretVersion == 7 && known?.rejections == 3)
    #expect(values.recall("value", at: here, now: 1) == nil)
  }

  @Test func `T41: a rejected value is remembered for an hour, or as long as it is suspended`() {
    let values = RejectedValues()
    values.remember(breaker(), of: "value", at: here, now: 0)
    #expect(values.recall("value", at: here, now: hour) == nil)
    values.remember(breaker(), of: "value", at: here, now: 0)
    #expect(values.recall("value", at: here, now: hour - 1) != nil)
    values.remember(breaker(heldFor: 5 * hour), of: "value", at: here, now: 0)
    #expect(values.recall("value", at: here, now: 5 * hour - 1) != nil)
  }

  @Test func `only rejected values are remembered, and at most 256`() {
    let values = RejectedValues()
    values.remember(breaker(rejections: 0), of: "good", at: here, now: 0)
    #expect(values.recall("good", at: here, now: 0) == nil)
    for number in 0...256 { values.remember(breaker(), of: "\(number)", at: here, now: 0) }
    #expect(values.recall("0", at: here, now: 0) == nil)
    #expect((1...256).allSatisfy { values.recall("\($0)", at: here, now: 0) != nil })
  }
}
