import Primitives
import Testing

/// RFC 9110 section 5.6.7.
@Suite struct HTTPDateTests {
  @Test(
    arguments: [
      ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
      ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
      ("Wed, 16 Nov 2011 12:00:00 GMT", 1_321_444_800), ("Thu, 29 Feb 2024 23:59:60 GMT", 1_709_251_199),
      ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799), ("Wednesday, 01-Jan-70 00:00:00 GMT", 3_155_760_000),
      ("Friday, 01-Jan-99 00:00:00 GMT", 915_148_800), ("Sat Jan 31 00:00:00 2026", 1_769_817_600),
    ] as [(String, Int64)])
  func `all three date formats of HTTP are parsed`(_ text: String, _ seconds: Int64) {
    #expect(HTTPDate.seconds(parsing: text, now: 1_795_000_000) == seconds)
  }

  @Test(arguments: [
    "", ",", "Sun", "Sun, ", "0", "soon", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC",
    "Sun, 06 Nov 1994 08:49:37 +0000", "sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 nov 1994 08:49:37 GMT",
    "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT",
    "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
    "Sun, 31 Nov 1994 08:49:37 GMT", "Thu, 29 Feb 2100 00:00:00 GMT", "Thu, 29 Feb 2023 00:00:00 GMT",
    "Sun, 06 Nov 1969 08:49:37 GMT", "Sun, +6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov -994 08:49:37 GMT",
    "Xxx, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT ", " Sun, 06 Nov 1994 08:49:37 GMT",
    "Sunday, 06-Nov-1994 08:49:37 GMT", "Sunday 06-Nov-94 08:49:37 GMT,", "Sun Nov 06 08:49:37 94",
    "Sun Nov  6 08:49:37 1994 ", "Sün, 06 Nov 1994 08:49:37 GM",
  ])
  func `other texts are rejected as dates`(_ text: String) {
    #expect(HTTPDate.seconds(parsing: text, now: 1_795_000_000) == nil)
  }

  @Test func `extreme values of the current time do not trap`() {
    for now in [Int64.min, -1, 0, .max] {
      _ = HTTPDate.seconds(parsing: "Sunday, 06-Nov-94 08:49:37 GMT", now: now)
      _ = HTTPDate.seconds(parsing: "Sun, 06 Nov 1994 08:49:37 GMT", now: now)
    }
  }
}
