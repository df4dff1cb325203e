internal import HTTP1

extension Exchange {
  /// How long the upstream says that it keeps an idle connection (RFC 2068 section 19.7.1.1), in milliseconds. `nil` if
  /// unknown.
  package var announcedIdle: UInt64? {
    mutating get {
      let bytes = response.bytes.span
      var least: UInt64?
      for field in response.fields {
        guard case .keepAlive = field.known else { continue }
        var elements = ListElements(field.value)
        while let element = elements.next(in: bytes) {
          guard let seconds = AnnouncedIdle.seconds(element, of: bytes) else { continue }
          least = min(least ?? .max, seconds * 1_000)
        }
      }
      return least
    }
  }
}

private enum AnnouncedIdle {
  /// Maximum number of digits in `timeout=5`.
  private static let maximumDigits = 9

  static func seconds(_ element: Range<Int>, of bytes: Span<UInt8>) -> UInt64? {
    var index = element.lowerBound
    while index < element.upperBound, bytes[index] != UInt8(ascii: "=") { index += 1 }
    var name = element.lowerBound..<index
    while let last = name.last, bytes[last] == 0x20 || bytes[last] == 0x09 { name = name.lowerBound..<last }
    guard FieldName.matches(name, of: bytes, "timeout") else { return nil }
    var (value, digits): (UInt64, Int) = (0, 0)
    index += 1
    while index < element.upperBound {
      let byte = bytes[index]
      index += 1
      if byte == 0x20 || byte == 0x09 || byte == UInt8(ascii: "\"") { continue }
      guard byte >= 0x30, byte <= 0x39 else { return nil }
      digits += 1
      value = digits > maximumDigits ? 999_999_999 : value * 10 + UInt64(byte - 0x30)
    }
    return digits == 0 ? nil : value
  }
}
