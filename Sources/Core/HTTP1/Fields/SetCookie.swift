internal import Primitives

/// A cookie from a Set-Cookie field, parsed as browsers do (RFC 6265 §5.2). Ranges point into the parsed bytes.
package struct SetCookie: Sendable {
  package enum Lifetime: Sendable, Equatable {
    /// The field deletes the cookie.
    case ended
    /// The field sets no valid lifetime.
    case unknown
    /// The remaining lifetime in seconds, at least 1.
    case seconds(UInt64)
  }

  package let name: Range<Int>
  /// The cookie's value, including the quotation marks if it has any.
  package let value: Range<Int>
  /// The value of the last `Domain` attribute, possibly empty. `nil` if there is none.
  package private(set) var domain: Range<Int>?
  package private(set) var path: Range<Int>?
  package private(set) var isSecure = false
  private var maxAge: Int64?
  private var expires: Range<Int>?

  /// Parses a field value without surrounding spaces. Returns `nil` if the cookie has no name or no `=`.
  package init?(_ line: Range<Int>, of bytes: Span<UInt8>) {
    var attributes = SetCookieAttributes(line, of: bytes)
    let pair = attributes.pair
    guard let equals = SetCookieAttributes.find(Byte.equals, in: pair, bytes) else { return nil }
    name = Grammar.trimmed(pair.lowerBound..<equals, bytes)
    value = Grammar.trimmed((equals + 1)..<pair.upperBound, bytes)
    if name.isEmpty { return nil }
    while let (attribute, value) = attributes.next(in: bytes) {
      switch attribute {
      case .maxAge: maxAge = Self.seconds(value, bytes) ?? maxAge
      case .expires: if !value.isEmpty { expires = value }
      case .domain: domain = value
      case .path: path = value
      case .secure: isSecure = true
      case .httpOnly, .sameSite, .other: break
      }
    }
  }

  /// Whether the cookie has this name, which is case-sensitive. `bytes` are the parsed bytes.
  package func isNamed(_ name: String, of bytes: Span<UInt8>) -> Bool {
    let name = name.utf8.span
    guard name.count == self.name.count else { return false }
    for index in name.indices where bytes[self.name.lowerBound + index] != name[index] { return false }
    return true
  }

  /// Whether the value is not empty and has only allowed bytes (RFC 6265 §4.1.1).
  package func isSendable(of bytes: Span<UInt8>) -> Bool {
    var value = value
    let isQuoted =
      value.count >= 2 && bytes[value.lowerBound] == Byte.quote && bytes[value.upperBound - 1] == Byte.quote
    if isQuoted { value = (value.lowerBound + 1)..<(value.upperBound - 1) }
    for index in value {
      switch bytes[index] {
      case 0x21, 0x23...0x2B, 0x2D...0x3A, 0x3C...0x5B, 0x5D...0x7E: break
      default: return false
      }
    }
    return !value.isEmpty
  }

  /// Returns the cookie's lifetime (RFC 6265 §5.3). `now` is in seconds since 1970.
  package func lifetime(now: Int64, of bytes: Span<UInt8>) -> Lifetime {
    if value.isEmpty { return .ended }
    if let maxAge { return maxAge > 0 ? .seconds(UInt64(maxAge)) : .ended }
    guard let expires, expires.count <= 40 else { return .unknown }
    var text: [UInt8] = []
    text.append(bytes.extracting(expires))
    // The Netscape format: `Thu, 01-Jan-2026 …`.
    if text.count == 29 { text = text.map { $0 == Byte.dash ? Byte.space : $0 } }
    guard let end = HTTPDate.seconds(parsing: String(decoding: text, as: UTF8.self), now: now) else { return .unknown }
    let (left, isTooMuch) = end.subtractingReportingOverflow(now)
    if isTooMuch { return .unknown }
    return left > 0 ? .seconds(UInt64(left)) : .ended
  }

  /// Parses the value of a Max-Age attribute, in seconds; `nil` for other text.
  private static func seconds(_ range: Range<Int>, _ bytes: Span<UInt8>) -> Int64? {
    guard let first = range.first else { return nil }
    let isNegative = bytes[first] == Byte.dash
    var number: Int64 = 0
    for index in range.dropFirst(isNegative ? 1 : 0) {
      guard ASCII.isDigit(bytes[index]) else { return nil }
      // At most about a thousand years.
      number = min(number * 10 + Int64(bytes[index] - 0x30), 1 << 35)
    }
    if isNegative { return range.count > 1 ? -number : nil }
    return number
  }
}
