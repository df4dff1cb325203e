internal import Primitives

/// One line of Set-Cookie as user agents read it (RFC 6265 section 5.2), as far as it matters here. Ranges of the line's bytes.
package struct SetCookie: Sendable {
  package enum Lifetime: Sendable, Equatable {
    /// The line takes away what there was.
    case ended
    /// The line does not say: as long as the session is.
    case unknown
    /// At least 1.
    case seconds(UInt64)
  }

  package let name: Range<Int>
  /// With the quotation marks that may stand around it.
  package let value: Range<Int>
  /// The value of the last such attribute; empty if it has none. nil: there is no such attribute.
  package private(set) var domain: Range<Int>?
  package private(set) var path: Range<Int>?
  package private(set) var isSecure = false
  private var maxAge: Int64?
  private var expires: Range<Int>?

  /// nil: it has no name, or no `=` behind it.
  /// - Parameter line: the field's value, without blanks around it.
  package init?(_ line: Range<Int>, of bytes: Span<UInt8>) {
    let pair = Self.part(from: line.lowerBound, line, bytes)
    guard let equals = Self.equals(in: pair, bytes) else { return nil }
    name = Self.trimmed(pair.lowerBound..<equals, bytes)
    value = Self.trimmed((equals + 1)..<pair.upperBound, bytes)
    if name.isEmpty { return nil }
    var position = pair.upperBound
    while position < line.upperBound {
      let attribute = Self.part(from: position + 1, line, bytes)
      position = attribute.upperBound
      if attribute.isEmpty { continue }
      let equals = Self.equals(in: attribute, bytes)
      let attributeName = Self.trimmed(attribute.lowerBound..<(equals ?? attribute.upperBound), bytes)
      let attributeValue = Self.trimmed((equals.map { $0 + 1 } ?? attribute.upperBound)..<attribute.upperBound, bytes)
      if FieldName.matches(attributeName, of: bytes, "max-age") {
        maxAge = Self.seconds(attributeValue, bytes) ?? maxAge
      } else if FieldName.matches(attributeName, of: bytes, "expires") {
        if equals != nil { expires = attributeValue }
      } else if FieldName.matches(attributeName, of: bytes, "domain") {
        domain = attributeValue
      } else if FieldName.matches(attributeName, of: bytes, "path") {
        path = attributeValue
      } else if FieldName.matches(attributeName, of: bytes, "secure") {
        isSecure = true
      }
    }
  }

  /// Whether it has exactly this name: cookies' names have a case.
  package func isNamed(_ name: String, of bytes: Span<UInt8>) -> Bool {
    let name = name.utf8.span
    guard name.count == self.name.count else { return false }
    for index in name.indices where bytes[self.name.lowerBound + index] != name[index] { return false }
    return true
  }

  /// Whether the value can be sent back as it is: not empty, nothing that ends it or its field (RFC 6265 section 4.1.1).
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

  /// Max-Age counts before Expires (section 5.3), which is measured from `now`, seconds since 1970. A date that is none says
  /// nothing.
  package func lifetime(now: Int64, of bytes: Span<UInt8>) -> Lifetime {
    if value.isEmpty { return .ended }
    if let maxAge { return maxAge > 0 ? .seconds(UInt64(maxAge)) : .ended }
    guard let expires, expires.count <= 40 else { return .unknown }
    var text: [UInt8] = []
    text.append(bytes.extracting(expires))
    // `Thu, 01-Jan-2026 …`, as in the days of Netscape.
    if text.count == 29 { text = text.map { $0 == Byte.dash ? Byte.space : $0 } }
    guard let end = HTTPDate.seconds(parsing: String(decoding: text, as: UTF8.self), now: now) else { return .unknown }
    let (left, isTooMuch) = end.subtractingReportingOverflow(now)
    if isTooMuch { return .unknown }
    return left > 0 ? .seconds(UInt64(left)) : .ended
  }

  /// Up to the next `;`, or to the end.
  private static func part(from start: Int, _ line: Range<Int>, _ bytes: Span<UInt8>) -> Range<Int> {
    var end = start
    while end < line.upperBound, bytes[end] != Byte.semicolon { end += 1 }
    return start..<end
  }

  private static func equals(in part: Range<Int>, _ bytes: Span<UInt8>) -> Int? {
    for index in part where bytes[index] == Byte.equals { return index }
    return nil
  }

  private static func trimmed(_ range: Range<Int>, _ bytes: Span<UInt8>) -> Range<Int> {
    var range = range
    while let first = range.first, Grammar.isBlank(bytes[first]) { range.removeFirst() }
    while let last = range.last, Grammar.isBlank(bytes[last]) { range.removeLast() }
    return range
  }

  /// Digits, perhaps behind a `-`; nil: something else, which counts as if it were not there.
  private static func seconds(_ range: Range<Int>, _ bytes: Span<UInt8>) -> Int64? {
    guard let first = range.first else { return nil }
    let isNegative = bytes[first] == Byte.dash
    var number: Int64 = 0
    for index in range.dropFirst(isNegative ? 1 : 0) {
      guard (0x30...0x39).contains(bytes[index]) else { return nil }
      // More than a thousand years is for ever.
      number = min(number * 10 + Int64(bytes[index] - 0x30), 1 << 35)
    }
    if isNegative { return range.count > 1 ? -number : nil }
    return number
  }
}
