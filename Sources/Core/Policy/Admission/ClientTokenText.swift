internal import Primitives

/// Searches texts in which no program should send a token, such as paths and query parameters.
extension ClientToken {
  /// Whether the text contains a token, plain or percent-encoded.
  package static func isIn(_ text: Span<UInt8>) -> Bool {
    var escapes = false
    if first(in: text, from: 0, isEscaped: false, hasEscapes: &escapes) != nil { return true }
    return escapes && first(in: text, from: 0, isEscaped: true, hasEscapes: &escapes) != nil
  }

  package static func masked(_ text: Span<UInt8>) -> [UInt8] {
    masked(masked(text, isEscaped: false).span, isEscaped: true)
  }

  private static func masked(_ text: Span<UInt8>, isEscaped: Bool) -> [UInt8] {
    var result: [UInt8] = []
    var (start, escapes) = (0, false)
    while let token = first(in: text, from: start, isEscaped: isEscaped, hasEscapes: &escapes) {
      result.append(text.extracting(start..<token.lowerBound))
      result += mask.utf8
      start = token.upperBound
    }
    result.append(text.extracting(start...))
    return result
  }

  private static var mask: String { prefix + "***" }

  /// Returns the range of the first token from `start` on; `nil` if there is none.
  private static func first(
    in text: Span<UInt8>, from start: Int, isEscaped: Bool, hasEscapes: inout Bool
  ) -> Range<Int>? {
    guard text.count - start >= length else { return nil }
    let prefix = prefix.utf8.span
    let opening = prefix[0]
    var (index, begin, matched) = (start, start, 0)
    while index < text.count {
      var (byte, width) = (text[index], 1)
      if matched == 0, byte != opening, byte != UInt8(ascii: "%") {
        index += 1
        continue
      }
      if byte == UInt8(ascii: "%") { hasEscapes = true }
      if isEscaped, let escaped = EscapedByte.at(index, in: text) { (byte, width) = (escaped, 3) }
      if matched < prefix.count ? byte == prefix[matched] : isBase64URLCharacter(byte) {
        if matched == 0 { begin = index }
        matched += 1
        if matched == length { return begin..<(index + width) }
      } else {
        // One pass is enough: a byte that ends a possible token also ends any other that began inside this token.
        begin = index
        matched = byte == opening ? 1 : 0
      }
      index += width
    }
    return nil
  }

  static func isBase64URLCharacter(_ byte: UInt8) -> Bool {
    ASCII.isLetterOrDigit(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
  }
}
