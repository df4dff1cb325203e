/// Dates in header fields, in the three forms that a recipient must accept (RFC 9110 section 5.6.7).
package enum HTTPDate {
  /// Returns the seconds since 1970; `nil` if the text is not a date. `now`, also in seconds since 1970, decides the
  /// century of a two-digit year.
  package static func seconds(parsing text: String, now: Int64) -> Int64? {
    let bytes = Array(text.utf8)
    if bytes.contains(UInt8(ascii: ",")) {
      return bytes.contains(UInt8(ascii: "-")) ? obsolete(bytes, now: now) : preferred(bytes)
    }
    return asctime(bytes)
  }

  /// Parses `Sun, 06 Nov 1994 08:49:37 GMT`.
  private static func preferred(_ text: [UInt8]) -> Int64? {
    guard text.count == 29, weekdays.contains(word(text, 0, 3)), matches(text, 3, ", "), matches(text, 7, " "),
      matches(text, 11, " "), matches(text, 16, " "), matches(text, 25, " GMT"), let day = number(text, 5, 2),
      let month = month(text, 8), let year = number(text, 12, 4), let time = time(text, 17)
    else { return nil }
    return seconds(year: year, month: month, day: day, time: time)
  }

  /// Parses `Sunday, 06-Nov-94 08:49:37 GMT`.
  private static func obsolete(_ text: [UInt8], now: Int64) -> Int64? {
    guard let comma = text.firstIndex(of: UInt8(ascii: ",")), text.count == comma + 24,
      weekdays.contains(where: { text.starts(with: $0.utf8) }), matches(text, comma, ", "),
      matches(text, comma + 4, "-"),
      matches(text, comma + 8, "-"), matches(text, comma + 11, " "), matches(text, comma + 20, " GMT"),
      let day = number(text, comma + 2, 2), let month = month(text, comma + 5), let short = number(text, comma + 9, 2),
      let time = time(text, comma + 12)
    else { return nil }
    // A year that seems to be more than 50 years ahead is in the past (RFC 9110 section 5.6.7).
    let thisYear = 1970 + now / 31_556_952
    var year = thisYear - thisYear % 100 + short
    if year > thisYear + 50 { year -= 100 }
    return seconds(year: year, month: month, day: day, time: time)
  }

  /// Parses `Sun Nov  6 08:49:37 1994`.
  private static func asctime(_ text: [UInt8]) -> Int64? {
    guard text.count == 24, weekdays.contains(word(text, 0, 3)), matches(text, 3, " "), matches(text, 7, " "),
      matches(text, 10, " "), matches(text, 19, " "), let month = month(text, 4),
      let day = text[8] == UInt8(ascii: " ") ? number(text, 9, 1) : number(text, 8, 2), let time = time(text, 11),
      let year = number(text, 20, 4)
    else { return nil }
    return seconds(year: year, month: month, day: day, time: time)
  }

  private static var weekdays: [String] { ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"] }
  private static var months: [String] {
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
  }

  private static func word(_ text: [UInt8], _ start: Int, _ count: Int) -> String {
    guard start >= 0, count <= text.count - start else { return "" }
    return String(decoding: text[start..<(start + count)], as: UTF8.self)
  }

  private static func matches(_ text: [UInt8], _ start: Int, _ expected: String) -> Bool {
    word(text, start, expected.utf8.count) == expected
  }

  private static func month(_ text: [UInt8], _ start: Int) -> Int64? {
    months.firstIndex(of: word(text, start, 3)).map { Int64($0) + 1 }
  }

  private static func number(_ text: [UInt8], _ start: Int, _ count: Int) -> Int64? {
    let digits = word(text, start, count)
    guard digits.utf8.count == count, digits.utf8.allSatisfy({ ASCII.isDigit($0) }) else { return nil }
    return Int64(digits)
  }

  /// Returns the seconds since midnight.
  private static func time(_ text: [UInt8], _ start: Int) -> Int64? {
    guard matches(text, start + 2, ":"), matches(text, start + 5, ":"), let hour = number(text, start, 2), hour < 24,
      let minute = number(text, start + 3, 2), minute < 60, let second = number(text, start + 6, 2), second <= 60
    else { return nil }
    return hour * 3600 + minute * 60 + min(second, 59)
  }

  private static func seconds(year: Int64, month: Int64, day: Int64, time: Int64) -> Int64? {
    guard year >= 1970, (1...CivilTime.length(ofMonth: month, year: year)).contains(day) else { return nil }
    return CivilTime.days(year: year, month: month, day: day) * 86_400 + time
  }
}
