internal import Policy
internal import Primitives
internal import Settings

extension SectionReader {
  /// Reads a size like `64KiB` or `1MiB`, or a number of bytes.
  func size<Key: ConfigurationKey>(_ key: Key, of fields: Fields<Key>) -> Int? {
    let wanted = "a size from \(sizeText(key.bounds.lowerBound)) to \(sizeText(key.bounds.upperBound))"
    guard let node = fields[key], let text = text(node, wanted) else { return nil }
    let (digits, unit) = split(text)
    let factors = ["": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20]
    guard let number = decimal(digits), let factor = factors[unit] else {
      let nearest = ["k": "KiB", "m": "MiB"][ASCII.lowercased(String(unit.prefix(1)))]
      return report.error(
        node.location, "\(quoted(text)) is not valid: expected \(wanted)",
        help: nearest.flatMap { unit in decimal(digits).map { "did you mean \($0)\(unit)?" } } ?? "write it like 64KiB")
    }
    let (bytes, overflow) = number.multipliedReportingOverflow(by: factor)
    guard !overflow, key.bounds.contains(bytes) else {
      return report.error(node.location, "\(quoted(text)) is not valid: expected \(wanted)")
    }
    return bytes
  }

  func integer<Key: ConfigurationKey>(_ key: Key, of fields: Fields<Key>) -> Int? {
    fields[key].flatMap { integer($0, in: key.bounds) }
  }

  /// Reads a duration like `500ms` or `10m`, in milliseconds.
  /// - Parameter reason: Why a longer time is not allowed, as the end of the message.
  func duration<Key: ConfigurationKey>(_ key: Key, of fields: Fields<Key>, _ reason: String? = nil) -> UInt64? {
    let (low, high) = (UInt64(key.bounds.lowerBound), UInt64(key.bounds.upperBound))
    let wanted = "a duration like 10s, 500ms, 10m or 1h"
    guard let node = fields[key], let text = text(node, wanted) else { return nil }
    guard let time = milliseconds(text, orZero: low == 0) else {
      return report.error(node.location, durationProblem(text, wanted))
    }
    if time > high {
      let because = reason.map { ", because \($0)" } ?? ""
      report.error(node.location, "the time is too long: at most \(timeText(high)) is allowed\(because)")
    } else if time < low {
      report.error(node.location, "the time is too short: at least \(timeText(low)) is allowed")
    }
    return time
  }

  func optionalDuration<Key: ConfigurationKey>(_ key: Key, of fields: Fields<Key>) -> UInt64?? {
    fields[key].flatMap { optionalDuration($0) }
  }

  /// Reads a duration in milliseconds, or `.some(nil)` for `none`.
  func optionalDuration(_ node: YAMLNode) -> UInt64?? {
    let wanted = "a duration like 10s, 500ms, 10m or 1h, or none"
    guard let text = text(node, wanted) else { return nil }
    if text == "none" { return .some(nil) }
    guard let milliseconds = milliseconds(text, orZero: false) else {
      return report.error(node.location, durationProblem(text, wanted), help: text == "0" ? "write none" : nil)
    }
    return .some(milliseconds)
  }

  /// Reads a date like `2027-01-31` or an RFC 3339 time, in seconds since 1970.
  func date(_ node: YAMLNode) -> Int64? {
    converted(node, "a date like 2027-01-31 or 2027-01-31T12:00:00Z") { CivilTime.seconds(parsing: $0) }
  }

  /// Returns text like `in 3 days`, or `nil` if more than 30 days remain until `time`, in seconds since 1970.
  func timeLeft(until time: Int64) -> String? {
    let days = (time &- environment.now) / 86_400
    guard days < 30 else { return nil }
    return days == 0 ? "within a day" : days == 1 ? "in 1 day" : "in \(days) days"
  }

  private func milliseconds(_ text: String, orZero: Bool) -> UInt64? {
    let (digits, unit) = split(text)
    let factors: [String: UInt64] = ["ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000]
    guard let number = decimal(digits), let factor = factors[unit] else { return nil }
    let (milliseconds, overflow) = UInt64(number).multipliedReportingOverflow(by: factor)
    guard !overflow, milliseconds <= 7 * 24 * 3_600_000, milliseconds > 0 || orZero else { return nil }
    return milliseconds
  }

  private func durationProblem(_ text: String, _ wanted: String) -> String {
    let (digits, unit) = split(text)
    if decimal(digits) != nil, unit.isEmpty {
      return "the duration \(quoted(text)) has no unit: expected \(digits)s, \(digits)ms, …"
    }
    if ["ms", "s", "m", "h"].contains(unit), let number = decimal(digits) {
      return number == 0
        ? "the duration \(quoted(text)) is too short: expected more than 0"
        : "the duration \(quoted(text)) is too long: expected at most 168h (a week)"
    }
    return "\(quoted(text)) is not valid: expected \(wanted)"
  }

  /// Splits a text like `64KiB` after its digits.
  func split(_ text: String) -> (digits: String, unit: String) {
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    return (String(digits), String(text.dropFirst(digits.count)))
  }

  private func timeText(_ milliseconds: UInt64) -> String {
    let units = [(3_600_000, "h"), (60_000, "m"), (1000, "s")] as [(UInt64, String)]
    let (factor, unit) = units.first { milliseconds > 0 && milliseconds % $0.0 == 0 } ?? (1, "ms")
    return "\(milliseconds / factor)\(unit)"
  }

  func sizeText(_ bytes: Int) -> String {
    if bytes >= 1 << 20, bytes % (1 << 20) == 0 { return "\(bytes >> 20)MiB" }
    return bytes >= 1 << 10 && bytes % (1 << 10) == 0 ? "\(bytes >> 10)KiB" : "\(bytes)"
  }
}
