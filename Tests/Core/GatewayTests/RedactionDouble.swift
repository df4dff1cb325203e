import Gateway

/// Stands for what looks for secrets: here each `^` is one, and a `~` at the end of a piece could become one.
final class RedactionDouble: Redaction {
  private(set) var count: UInt64 = 0
  /// As many for each byte as this says.
  private(set) var steps = 0
  var stepsPerByte = 0
  private var isHolding = false
  /// It cannot search any more.
  var fails = false

  /// Decoding takes a `!` off each byte before it; what ends with `?` has not ended.
  private(set) var decodes: ContentCoding?
  /// There is nothing to decode with.
  var cannotDecode = false
  private(set) var isWhole = true
  var isDecoding: Bool { decodes != nil }

  func decode(_ coding: ContentCoding) -> Bool {
    if cannotDecode { return false }
    decodes = coding
    return true
  }

  func redact(_ text: inout [UInt8]) -> Bool {
    for index in text.indices where text[index] == UInt8(ascii: "^") {
      text[index] = UInt8(ascii: "*")
      count += 1
    }
    return !fails
  }

  func redact(_ piece: Span<UInt8>, changed: inout [UInt8]) -> Range<Int>? {
    if fails { return nil }
    steps += piece.count * stepsPerByte
    release(to: &changed)
    guard piece.count > 0 else { return 0..<0 }
    if decodes != nil {
      isWhole = piece[piece.count - 1] != UInt8(ascii: "?")
      var decoded = (0..<piece.count).map { piece[$0] }.filter { $0 != UInt8(ascii: "!") && $0 != UInt8(ascii: "?") }
      if decoded.last == UInt8(ascii: "~") {
        isHolding = true
        decoded.removeLast()
      }
      _ = redact(&decoded)
      changed += decoded
      return 0..<0
    }
    isHolding = piece[piece.count - 1] == UInt8(ascii: "~")
    let end = piece.count - (isHolding ? 1 : 0)
    // Masked bytes go on changed, and what follows the last of them as it is.
    let last = (0..<end).last { piece[$0] == UInt8(ascii: "^") }.map { $0 + 1 } ?? 0
    var masked = (0..<last).map { piece[$0] }
    _ = redact(&masked)
    changed += masked
    return last..<end
  }

  func release(to changed: inout [UInt8]) {
    if isHolding { changed.append(UInt8(ascii: "~")) }
    isHolding = false
  }
}
