internal import Primitives

/// The fields of a token server's response head that bearerd uses. A field is `nil` if it is absent. The values of a
/// repeated field are joined with commas.
package struct TokenResponseHead: Sendable {
  package var status: Int
  package var contentType: String?
  package var contentEncoding: String?
  package var retryAfter: String?
  package var date: String?
  package var location: String?

  package init(
    status: Int, contentType: String? = nil, contentEncoding: String? = nil, retryAfter: String? = nil,
    date: String? = nil, location: String? = nil
  ) {
    self.status = status
    self.contentType = contentType
    self.contentEncoding = contentEncoding
    self.retryAfter = retryAfter
    self.date = date
    self.location = location
  }

  /// Returns the seconds by which the server's clock is ahead of ours. `nil` without a valid `Date`.
  package func clockLead(now: Int64) -> Int64? {
    guard let date, let serverTime = HTTPDate.seconds(parsing: date, now: now) else { return nil }
    let (lead, overflows) = serverTime.subtractingReportingOverflow(now)
    return overflows ? nil : lead
  }

  /// Returns the server's time in seconds since 1970. Without a valid `Date`, returns `now`.
  func serverTime(now: Int64) -> Int64 { date.flatMap { HTTPDate.seconds(parsing: $0, now: now) } ?? now }

  /// Whether the body is JSON without compression.
  var isJSON: Bool { isIdentity && isJSON(mediaType) }

  /// Whether a body that begins with `{` is read as JSON. Some servers label JSON as HTML, text or a form.
  var mayBeJSON: Bool {
    let others = ["", "text/json", "text/plain", "text/html", Self.formType]
    return isIdentity && (others.contains(mediaType) || isJSON(mediaType))
  }

  /// Whether a body that does not begin with `{` is read as a form.
  var mayBeForm: Bool { isIdentity && [Self.formType, "text/plain"].contains(mediaType) }

  private static let formType = "application/x-www-form-urlencoded"

  private var isIdentity: Bool { contentEncoding.map { $0.isEmpty || $0.lowercased() == "identity" } ?? true }

  /// The media type in lower case, without parameters.
  private var mediaType: String {
    let type = (contentType ?? "").prefix { $0 != ";" }.lowercased()
    return String(decoding: type.utf8.filter { $0 != 0x20 && $0 != 0x09 }, as: UTF8.self)
  }

  private func isJSON(_ type: String) -> Bool {
    type == "application/json" || type.hasPrefix("application/") && type.hasSuffix("+json") && !type.contains(",")
  }

  /// Returns the delay of `Retry-After` in milliseconds (RFC 9110 section 10.2.3). `nil` if absent or invalid.
  func retryDelay(now: Int64) -> UInt64? {
    guard let retryAfter, !retryAfter.isEmpty else { return nil }
    if retryAfter.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) {
      return Self.milliseconds(UInt64(retryAfter) ?? .max)
    }
    guard let end = HTTPDate.seconds(parsing: retryAfter, now: now) else { return nil }
    let (pause, overflows) = end.subtractingReportingOverflow(serverTime(now: now))
    guard !overflows, pause > 0 else { return 0 }
    return Self.milliseconds(UInt64(pause))
  }

  private static func milliseconds(_ seconds: UInt64) -> UInt64 {
    let (milliseconds, overflows) = seconds.multipliedReportingOverflow(by: 1000)
    return overflows ? .max : milliseconds
  }
}
