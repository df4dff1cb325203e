import Gateway
import Policy
import Testing

@Suite struct LogRateLimiterTests {
  @Test func `T58: unadmitted callers get at most 50 log lines in ten seconds, and the rest is counted`() {
    var log = LogRateLimiter()
    var told: [UInt64] = []
    func lines(_ count: Int, at now: UInt64) -> Int {
      (0..<count).filter { _ in log.acquireLine(at: now) { told.append($0) } }.count
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

  @Test func `T58: only refusals before admission count as refusals of unadmitted callers`() {
    for refusal in refusals {
      let isStranger = refusal == .policy(.callerUnknown) || refusal == .policy(.callerNotAllowed(uid: 77))
      #expect(refusal.isOfUnadmittedCaller == isStranger, "\(refusal)")
    }
  }
}
