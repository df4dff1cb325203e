import Gateway

/// A test double for the search for secrets. Each `^` is a secret, and `~` at the end of a piece could be the beginning
/// of a secret.
final class RedactionDouble: Redaction {
  private(set) var count: UInt64 = 0
  /// The number of search steps, `stepsPerByte` for each byte.
  private(set) var steps = 0
  var stepsPerByte = 0
  private var isHolding = false
  /// Whether searches fail.
  var fails = false

  /// The coding in use. Decoding removes each `!`, and a body that ends with `?` is incomplete.
  private(set) var decodes: ContentCoding?
  /// Whether no decoder is available.
  var cannotDecode = false
  private(set) var isWhole = true

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
    // Bytes up to the last secret are copied with masks, and the rest is passed on in place.
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
