/// Iterates over the attributes of a Set-Cookie field (RFC 6265 §5.2, rfc6265bis §5.6).
package struct SetCookieAttributes: Sendable {
  package enum Name: Sendable {
    case domain, expires, httpOnly, maxAge, path, sameSite, secure
    case other
  }

  /// The part `NAME=VALUE` before the attributes.
  package let pair: Range<Int>
  private let end: Int
  private var position: Int

  /// Maximum length of an attribute value, in bytes.
  private static let maximumValueLength = 1_024

  package init(_ line: Range<Int>, of bytes: Span<UInt8>) {
    end = line.upperBound
    position = Self.find(Byte.semicolon, in: line, bytes) ?? end
    pair = Grammar.trimmed(line.lowerBound..<position, bytes)
  }

  /// Returns the next attribute, or `nil` after the last. An attribute without `=` has an empty value.
  package mutating func next(in bytes: Span<UInt8>) -> (name: Name, value: Range<Int>)? {
    while position < end {
      let start = position &+ 1
      position = Self.find(Byte.semicolon, in: start..<end, bytes) ?? end
      let equals = Self.find(Byte.equals, in: start..<position, bytes)
      let name = Grammar.trimmed(start..<(equals ?? position), bytes)
      let value = Grammar.trimmed((equals.map { $0 &+ 1 } ?? position)..<position, bytes)
      if value.count <= Self.maximumValueLength { return (Self.name(name, bytes), value) }
    }
    return nil
  }

  private static func name(_ name: Range<Int>, _ bytes: Span<UInt8>) -> Name {
    switch name.count {
    case 4: FieldName.matches(name, of: bytes, "path") ? .path : .other
    case 6:
      FieldName.matches(name, of: bytes, "domain")
        ? .domain : FieldName.matches(name, of: bytes, "secure") ? .secure : .other
    case 7:
      FieldName.matches(name, of: bytes, "max-age")
        ? .maxAge : FieldName.matches(name, of: bytes, "expires") ? .expires : .other
    case 8:
      FieldName.matches(name, of: bytes, "httponly")
        ? .httpOnly : FieldName.matches(name, of: bytes, "samesite") ? .sameSite : .other
    default: .other
    }
  }

  static func find(_ wanted: UInt8, in range: Range<Int>, _ bytes: Span<UInt8>) -> Int? {
    for index in range where bytes[index] == wanted { return index }
    return nil
  }
}
