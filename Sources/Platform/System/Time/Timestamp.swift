internal import CLinux
internal import Glibc

/// The current time in RFC 3339 format, such as `2026-11-21T05:12:08.123Z`.
package struct Timestamp {
  package private(set) var text: [UInt8] = Array("0000-00-00T00:00:00.000Z".utf8)
  private var secondShown: Int64 = -1

  package init() {}

  package mutating func update(to now: (seconds: Int64, microseconds: Int64) = Clock.now) {
    if now.seconds != secondShown {
      secondShown = now.seconds
      var (seconds, parts) = (time_t(now.seconds), tm())
      gmtime_r(&seconds, &parts)
      // RFC 3339 has four digits for the year.
      write(min(9999, Int(parts.tm_year) + 1900), at: 0, digits: 4)
      write(Int(parts.tm_mon) + 1, at: 5, digits: 2)
      write(Int(parts.tm_mday), at: 8, digits: 2)
      write(Int(parts.tm_hour), at: 11, digits: 2)
      write(Int(parts.tm_min), at: 14, digits: 2)
      write(Int(parts.tm_sec), at: 17, digits: 2)
    }
    write(Int(now.microseconds / 1_000), at: 20, digits: 3)
  }

  private mutating func write(_ number: Int, at offset: Int, digits: Int) {
    var rest = max(0, number)
    for index in (offset..<offset + digits).reversed() {
      text[index] = UInt8(ascii: "0") + UInt8(rest % 10)
      rest /= 10
    }
  }
}
