/// Comparison of field names, tokens and other short texts in the bytes of a head.
package enum FieldName {
  /// Whether the bytes of `range` are `name`, without regard to case. `name` is in lower case.
  package static func matches(_ range: Range<Int>, of bytes: Span<UInt8>, _ name: String) -> Bool {
    let name = name.utf8.span
    guard range.count == name.count else { return false }
    var index = 0
    while index < name.count {
      if Grammar.foldedToken[Int(bytes[range.lowerBound &+ index])] != name[index] { return false }
      index &+= 1
    }
    return true
  }

  /// Compares with a name that is known at run time only.
  package static func matches(_ range: Range<Int>, of bytes: Span<UInt8>, _ name: [UInt8]) -> Bool {
    guard range.count == name.count else { return false }
    for index in name.indices
    where Grammar.foldedToken[Int(bytes[range.lowerBound &+ index])] != name[index] { return false }
    return true
  }

  /// Whether a server could take the bytes of `range` for `name` (T14): without regard to case, and with every byte that is
  /// neither a letter nor a digit for `-`. CGI servers make one variable, `HTTP_X_API_KEY`, of `X-Api-Key` and `X_Api_Key`,
  /// and some of them of `X.Api.Key` as well. `name` is in lower case; its own punctuation equals `-`, too.
  package static func resembles(_ range: Range<Int>, of bytes: Span<UInt8>, _ name: String) -> Bool {
    let name = name.utf8.span
    guard range.count == name.count else { return false }
    var index = 0
    while index < name.count {
      if folded(bytes[range.lowerBound &+ index]) != folded(name[index]) { return false }
      index &+= 1
    }
    return true
  }

  /// Compares with a name that is known at run time only.
  package static func resembles(_ range: Range<Int>, of bytes: Span<UInt8>, _ name: [UInt8]) -> Bool {
    resembles(range, of: bytes, name.indices, of: name.span)
  }

  /// Compares two names, each in bytes of its own.
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

  /// Whether the name begins with `prefix`, under the same folding: `Proxy_`, `X-Forwarded-`.
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

/// The elements of a list field's value (RFC 9110 §5.6.1): what stands between commas, without blanks around it.
/// Empty elements are skipped. A comma within a quoted string does not count; a quoted string that is never closed
/// goes on to the end.
package struct ListElements: Sendable {
  private var rest: Range<Int>

  package init(_ value: Range<Int>) { rest = value }

  /// - Parameter bytes: those that the value's range points into.
  package mutating func next(in bytes: Span<UInt8>) -> Range<Int>? {
    while !rest.isEmpty {
      var end = rest.lowerBound
      var isQuoted = false
      while end < rest.upperBound, isQuoted || bytes[end] != Byte.comma {
        if bytes[end] == Byte.quote { isQuoted.toggle() }
        if isQuoted && bytes[end] == Byte.backslash && end &+ 1 < rest.upperBound { end &+= 1 }
        end &+= 1
      }
      let element = trimmed(rest.lowerBound..<end, bytes)
      rest = Swift.min(end &+ 1, rest.upperBound)..<rest.upperBound
      if !element.isEmpty { return element }
    }
    return nil
  }

  private func trimmed(_ range: Range<Int>, _ bytes: Span<UInt8>) -> Range<Int> {
    var start = range.lowerBound
    var end = range.upperBound
    while start < end, Grammar.isBlank(bytes[start]) { start &+= 1 }
    while end > start, Grammar.isBlank(bytes[end &- 1]) { end &-= 1 }
    return start..<end
  }
}
