internal import Primitives

/// The fields of an answer's head that matter: their values, trimmed; nil: there is none. Of a field that came twice, both,
/// joined by a comma.
package struct AnswerHead: Sendable {
  package var status: Int
  package var contentType: String?
  package var contentEncoding: String?
  package var retryAfter: String?
  package var date: String?

  package init(
    status: Int, contentType: String? = nil, contentEncoding: String? = nil, retryAfter: String? = nil,
    date: String? = nil
  ) {
    self.status = status
    self.contentType = contentType
    self.contentEncoding = contentEncoding
    self.retryAfter = retryAfter
    self.date = date
  }

  /// Seconds by which the server's clock is ahead of ours; nil: it does not say.
  package func clockLead(now: Int64) -> Int64? {
    guard let date, let theirs = HTTPDate.seconds(parsing: date, now: now) else { return nil }
    let (lead, isTooMuch) = theirs.subtractingReportingOverflow(now)
    return isTooMuch ? nil : lead
  }

  /// The server's time, which its dates are to be measured from; ours if it does not say. Seconds since 1970.
  func clock(now: Int64) -> Int64 { date.flatMap { HTTPDate.seconds(parsing: $0, now: now) } ?? now }

  /// `application/json`, or another type of that syntax (RFC 6839), whatever its parameters; nothing in between that would
  /// have to be undone.
  var isJSON: Bool {
    let type = (contentType ?? "").prefix { $0 != ";" }.lowercased()
    let trimmed = type.utf8.filter { $0 != 0x20 && $0 != 0x09 }
    let isIdentity = contentEncoding.map { $0.isEmpty || $0.lowercased() == "identity" } ?? true
    let name = String(decoding: trimmed, as: UTF8.self)
    return isIdentity
      && (name == "application/json"
        || name.hasPrefix("application/") && name.hasSuffix("+json") && !name.contains(","))
  }

  /// Milliseconds from now (RFC 9110 section 10.2.3); nil: none that makes sense. A date is measured against the answer's own
  /// `Date`, where there is one: clocks differ.
  func pause(now: Int64) -> UInt64? {
    guard let retryAfter, !retryAfter.isEmpty else { return nil }
    if retryAfter.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) {
      return Self.milliseconds(UInt64(retryAfter) ?? .max)
    }
    guard let end = HTTPDate.seconds(parsing: retryAfter, now: now) else { return nil }
    let (pause, isTooMuch) = end.subtractingReportingOverflow(clock(now: now))
    guard !isTooMuch, pause > 0 else { return 0 }
    return Self.milliseconds(UInt64(pause))
  }

  private static func milliseconds(_ seconds: UInt64) -> UInt64 {
    let (milliseconds, isTooMuch) = seconds.multipliedReportingOverflow(by: 1000)
    return isTooMuch ? .max : milliseconds
  }
}
