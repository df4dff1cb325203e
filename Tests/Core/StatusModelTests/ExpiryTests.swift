import StatusModel
import Testing

@Suite struct ExpiryTests {
  private static let day = 86_400
  private static let now = 1_000 * day

  private static let rows: [(hours: Int, notice: Int?)] = [
    (721, nil), (720, 30), (169, 30), (168, 7), (25, 7), (24, 1), (1, 1), (0, 0), (-24, 0),
  ]

  @Test(arguments: rows)
  func `the notice period is the smallest that the time left is within`(_ hours: Int, _ notice: Int?) {
    #expect(DaemonStatus.Expiry(.pins, "a", at: Int64(Self.now + hours * 3_600)).notice(at: Self.now) == notice)
  }

  private static let lifetimes: [(days: Int, notice: Int?)] = [(398, 30), (90, nil), (91, 30), (7, nil), (1, nil)]

  @Test(arguments: lifetimes)
  func `a certificate has no notice period longer than a third of its lifetime`(_ lifetime: Int, _ expected: Int?) {
    let ends = Self.now + 10 * Self.day
    let expiry = DaemonStatus.Expiry(
      .upstreamCertificate, "a", from: Int64(ends - lifetime * Self.day), at: Int64(ends))
    #expect(expiry.notice(at: Self.now) == expected)
  }

  @Test func `times at the limits of their type do not trap`() {
    for (from, at) in [(Int64.max, Int64.min), (.min, .max), (.max, .max)] {
      let expiry = DaemonStatus.Expiry(.caFile, "a", from: from, at: at)
      for now in [Int.min, 0, .max] { #expect(expiry.notice(at: now) == nil || now == 0) }
    }
  }
}
