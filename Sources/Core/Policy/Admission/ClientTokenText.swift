internal import Primitives

/// Texts of a token's form in places where no program should put its token: the token in the name of a path, a parameter, a page
/// that the request came from.
extension ClientToken {
  /// Whether such a text is anywhere in `text`: as it is, or with percent-escapes read as what they stand for.
  package static func isIn(_ text: Span<UInt8>) -> Bool {
    var escapes = false
    if first(in: text, from: 0, isEscaped: false, hasEscapes: &escapes) != nil { return true }
    return escapes && first(in: text, from: 0, isEscaped: true, hasEscapes: &escapes) != nil
  }

  /// The text with a mask for each token.
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

  /// One pass is enough: within the prefix no other can begin, and behind it one that begins ends later.
  /// - Parameters:
  ///   - isEscaped: percent-escapes are read as what they stand for.
  ///   - hasEscapes: set if there may be some.
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
      if matched < prefix.count ? byte == prefix[matched] : isDigit(byte) {
        if matched == 0 { begin = index }
        matched += 1
        if matched == length { return begin..<(index + width) }
      } else {
        begin = index
        matched = byte == opening ? 1 : 0
      }
      index += width
    }
    return nil
  }

  /// A digit of base64url.
  static func isDigit(_ byte: UInt8) -> Bool {
    ASCII.isLetterOrDigit(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
  }
}
