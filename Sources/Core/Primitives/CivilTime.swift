/// Dates of the Gregorian calendar in UTC, independent of the C library and its time zones.
package enum CivilTime {
  /// Returns the seconds since 1970 of a date (`2027-01-31`) or an RFC 3339 time; `nil` for other texts, impossible
  /// dates, and years before 1970.
  package static func seconds(parsing text: String) -> Int64? {
    var bytes = text.utf8[...]
    guard let year = number(&bytes, 4, 1970...9999), skip(&bytes, "-"), let month = number(&bytes, 2, 1...12),
      skip(&bytes, "-"), let day = number(&bytes, 2, 1...length(ofMonth: month, year: year))
    else { return nil }
    let midnight = days(year: year, month: month, day: day) * 86_400
    if bytes.isEmpty { return midnight }
    guard skip(&bytes, "T") || skip(&bytes, "t") || skip(&bytes, " "), let hour = number(&bytes, 2, 0...23),
      skip(&bytes, ":"), let minute = number(&bytes, 2, 0...59), skip(&bytes, ":"),
      // 60 is a leap second, which Unix time does not count.
      let second = number(&bytes, 2, 0...60)
    else { return nil }
    if skip(&bytes, ".") {
      let fraction = bytes.prefix { ASCII.isDigit($0) }
      guard !fraction.isEmpty else { return nil }
      bytes = bytes.dropFirst(fraction.count)
    }
    guard let offset = offset(&bytes), bytes.isEmpty else { return nil }
    return midnight + hour * 3600 + minute * 60 + min(second, 59) - offset
  }

  /// Returns the date of seconds since 1970, as in `2027-01-31`.
  package static func day(of seconds: Int64) -> String {
    // Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms": eras of 400 years that begin on 1 March.
    let shifted = (seconds >= 0 ? seconds / 86_400 : (seconds - 86_399) / 86_400) + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let fromMarch = (5 * dayOfYear + 2) / 153
    let month = fromMarch < 10 ? fromMarch + 3 : fromMarch - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    return "\(year)-\(padded(month))-\(padded(dayOfYear - (153 * fromMarch + 2) / 5 + 1))"
  }

  /// Returns the time of seconds since 1970, as in `2027-01-31T23:59:59Z`.
  package static func time(of seconds: Int64) -> String {
    let second = (seconds % 86_400 + 86_400) % 86_400
    return "\(day(of: seconds))T\(padded(second / 3600)):\(padded(second / 60 % 60)):\(padded(second % 60))Z"
  }

  /// Returns the number of days from 1970-01-01 to a date.
  static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
    // See `day(of:)` for the algorithm.
    let year = month <= 2 ? year - 1 : year
    let era = year / 400
    let yearOfEra = year - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  static func length(ofMonth month: Int64, year: Int64) -> Int64 {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  private static func offset(_ bytes: inout Substring.UTF8View) -> Int64? {
    if skip(&bytes, "Z") || skip(&bytes, "z") { return 0 }
    let isWest = skip(&bytes, "-")
    guard isWest || skip(&bytes, "+"), let hours = number(&bytes, 2, 0...23), skip(&bytes, ":"),
      let minutes = number(&bytes, 2, 0...59)
    else { return nil }
    return (isWest ? -1 : 1) * (hours * 3600 + minutes * 60)
  }

  private static func number(_ bytes: inout Substring.UTF8View, _ digits: Int, _ range: ClosedRange<Int64>) -> Int64? {
    var number: Int64 = 0
    guard bytes.count >= digits else { return nil }
    for byte in bytes.prefix(digits) {
      guard ASCII.isDigit(byte) else { return nil }
      number = number * 10 + Int64(byte - 0x30)
    }
    bytes = bytes.dropFirst(digits)
    return range.contains(number) ? number : nil
  }

  private static func skip(_ bytes: inout Substring.UTF8View, _ expected: Unicode.Scalar) -> Bool {
    guard bytes.first == UInt8(ascii: expected) else { return false }
    bytes = bytes.dropFirst()
    return true
  }

  private static func padded(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
