import Gateway
import Policy
import Testing

@Suite struct StrangersInLogTests {
  @Test func `T58: of strangers fifty have a line in ten seconds, and the rest is told when they are over`() {
    var log = LogRateLimiter()
    var told: [UInt64] = []
    func lines(_ count: Int, at now: UInt64) -> Int {
      (0..<count).filter { _ in log.takeLine(at: now) { told.append($0) } }.count
    }
    #expect(lines(40, at: 100_000) == 40)
    #expect(lines(1_000, at: 109_999) == 10)
    #expect(told.isEmpty)
    #expect(lines(60, at: 110_000) == 50)
    #expect(told == [990])
    #expect(lines(1, at: 500_000) == 1)
    #expect(told == [990, 10])
    #expect(lines(1, at: 600_000) == 1)
    #expect(told == [990, 10], "nothing was left out")
  }

  @Test func `T58: whoever is let in is no stranger`() {
    for refusal in refusals {
      let isStranger = refusal == .policy(.callerUnknown) || refusal == .policy(.callerNotAllowed(uid: 77))
      #expect(refusal.isOfStranger == isStranger, "\(refusal)")
    }
  }
}
