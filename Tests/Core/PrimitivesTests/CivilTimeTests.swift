import Primitives
import Testing

@Suite struct CivilTimeTests {
  @Test(
    arguments: [
      ("1970-01-01", 0), ("2027-01-31", 1_801_353_600), ("2000-02-29", 951_782_400),
      ("9999-12-31T23:59:60Z", 253_402_300_799),
      ("2027-01-31T12:00:00+01:00", 1_801_393_200), ("2027-01-31t12:00:00.5z", 1_801_396_800),
      ("2027-01-31 12:00:00-00:30", 1_801_398_600), ("2026-02-29", nil), ("1900-02-29", nil), ("2100-02-29", nil),
      ("2027-13-01", nil),
      ("2027-00-01", nil), ("2027-1-31", nil), ("2027-01-31T", nil), ("2027-01-31T24:00:00Z", nil),
      ("2027-01-31T12:00Z", nil),
      ("2027-01-31T12:00:00", nil), ("2027-01-31T12:00:00.Z", nil), ("2027-01-31Z", nil),
      ("2027-01-31T12:00:00Zx", nil), ("", nil),
      ("２０２７-01-31", nil), ("99999-01-01", nil),
    ] as [(String, Int64?)])
  func `dates and times of RFC 3339 are parsed, and other texts are rejected`(_ text: String, _ seconds: Int64?) {
    #expect(CivilTime.seconds(parsing: text) == seconds)
    if let seconds { #expect(text.hasPrefix(CivilTime.day(of: seconds)) || text.contains("+01:00")) }
  }

  @Test func `a written date is parsed back to the same day`() {
    for day in stride(from: Int64(0), to: 2_932_896, by: 13) {
      #expect(CivilTime.seconds(parsing: CivilTime.day(of: day * 86_400 + 4711)) == day * 86_400)
    }
  }

  @Test func `a written time is parsed back to the same second`() {
    for second in stride(from: Int64(0), to: 253_402_300_800, by: 86_399 * 13) {
      #expect(CivilTime.seconds(parsing: CivilTime.time(of: second)) == second)
    }
    #expect(CivilTime.time(of: 1_801_353_600) == "2027-01-31T00:00:00Z")
    #expect(CivilTime.time(of: -1) == "1969-12-31T23:59:59Z")
  }
}
