/// Compares field names, tokens and other short texts in the bytes of a head.
package enum FieldName {
  /// Whether the bytes in `range` equal `name`, ignoring case. `name` must be in lowercase.
  package static func matches(_ range: Range<Int>, of bytes: Span<UInt8>, _ name: String) -> Bool {
    // For a literal, the compiler knows the length.
    guard range.count == name.utf8.count else { return false }
    let name = name.utf8.span
    var index = 0
    while index < name.count {
      if Grammar.foldedToken[Int(bytes[range.lowerBound &+ index])] != name[index] { return false }
      index &+= 1
    }
    return true
  }

  /// Whether a server could confuse the two names, such as `X-Api-Key` and `X_Api_Key` (T14).
  package static func resembles(_ range: Range<Int>, of bytes: Span<UInt8>, _ name: String) -> Bool {
    // CGI servers map both to `HTTP_X_API_KEY`, and some also map `X.Api.Key` to it.
    guard range.count == name.utf8.count else { return false }
    let name = name.utf8.span
    var index = 0
    while index < name.count {
      if folded(bytes[range.lowerBound &+ index]) != folded(name[index]) { return false }
      index &+= 1
    }
    return true
  }

  /// Whether a server could confuse the field names in `range` and `other`.
  package static func resembles(
    _ range: Range<Int>, of bytes: Span<UInt8>, _ other: Range<Int>, of otherBytes: Span<UInt8>
  ) -> Bool {
    guard range.count == other.count else { return false }
    var index = 0
    while index < range.count {
      if folded(bytes[range.lowerBound &+ index]) != folded(otherBytes[other.lowerBound &+ index]) { return false }
      index &+= 1
    }
    return true
  }

  /// Whether a server could confuse the start of the field name with `prefix`.
  package static func resembles(_ range: Range<Int>, of bytes: Span<UInt8>, prefix: String) -> Bool {
    let count = prefix.utf8.count
    guard range.count >= count else { return false }
    return resembles(range.lowerBound..<(range.lowerBound &+ count), of: bytes, prefix)
  }

  @inline(__always)
  private static func folded(_ byte: UInt8) -> UInt8 {
    if (byte | 0x20) &- 0x61 < 26 { return byte | 0x20 }
    return byte &- 0x30 < 10 ? byte : Byte.dash
  }
}

/// Iterates over the comma-separated elements of a field value (RFC 9110 §5.6.1). Skips empty elements.
package struct ListElements: Sendable {
  private var rest: Range<Int>

  package init(_ value: Range<Int>) { rest = value }

  package mutating func next(in bytes: Span<UInt8>) -> Range<Int>? {
    while !rest.isEmpty {
      var end = rest.lowerBound
      var isQuoted = false
      while end < rest.upperBound, isQuoted || bytes[end] != Byte.comma {
        if bytes[end] == Byte.quote { isQuoted.toggle() }
        if isQuoted && bytes[end] == Byte.backslash && end &+ 1 < rest.upperBound { end &+= 1 }
        end &+= 1
      }
      let element = Grammar.trimmed(rest.lowerBound..<end, bytes)
      rest = Swift.min(end &+ 1, rest.upperBound)..<rest.upperBound
      if !element.isEmpty { return element }
    }
    return nil
  }
}
