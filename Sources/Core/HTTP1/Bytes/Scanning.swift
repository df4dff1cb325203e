/// Finds the end of a run of allowed bytes.
enum Scanning {
  // SIMD types were ten times slower than `UInt64`.

  /// Returns the position of the first byte that is not allowed in a field value or reason phrase, or `bytes.count`.
  @inline(__always)
  static func endOfValue(_ bytes: Span<UInt8>, from start: Int) -> Int {
    var position = start
    while bytes.count &- position >= 8 {
      let word = load(bytes, at: position)
      let stops = (below(0x20, word) | equal(0x7F, word)) & high
      if stops == 0 {
        position &+= 8
      } else {
        position &+= stops.trailingZeroBitCount >> 3
        // HTAB is the only allowed control character.
        if bytes[position] != Byte.tab { return position }
        position &+= 1
      }
    }
    while position < bytes.count, Grammar.isValue(bytes[position]) { position &+= 1 }
    return position
  }

  /// Returns the position of the first byte that is not allowed in a request-target, or `bytes.count`.
  @inline(__always)
  static func endOfTarget(_ bytes: Span<UInt8>, from start: Int) -> Int {
    var position = start
    while bytes.count &- position >= 8 {
      let word = load(bytes, at: position)
      let stops = (below(0x21, word) | equal(0x7F, word) | equal(0x23, word)) & high
      if stops != 0 { return position &+ stops.trailingZeroBitCount >> 3 }
      position &+= 8
    }
    while position < bytes.count, Grammar.isTarget(bytes[position]) { position &+= 1 }
    return position
  }

  /// Returns the end of the letters and `-` from `start` on, or up to seven bytes less at the end of `bytes`.
  @inline(__always)
  static func endOfLetters(_ bytes: Span<UInt8>, from start: Int) -> Int {
    var position = start
    while bytes.count &- position >= 8 {
      let word = load(bytes, at: position)
      // Seven bits per byte, so that no sum carries into the next byte.
      let folded = (word & ~high) | ones &* 0x20
      let letters = (folded &+ ones &* (0x80 &- 0x61)) & ~(folded &+ ones &* (0x80 &- 0x7B))
      let dashes = ~((((word ^ ones &* 0x2D) & ~high) &+ ~high) | (word ^ ones &* 0x2D))
      let stops = ~((letters & ~word) | dashes) & high
      if stops != 0 { return position &+ stops.trailingZeroBitCount >> 3 }
      position &+= 8
    }
    return position
  }

  /// Returns the last eight (or fewer) letters or `-` of `range` in lowercase, as an integer with the last byte lowest.
  @inline(__always)
  static func foldedTail(_ bytes: Span<UInt8>, _ range: Range<Int>) -> UInt64 {
    if range.count >= 8 {
      return (load(bytes, at: range.upperBound &- 8) | ones &* 0x20).byteSwapped
    }
    if !range.isEmpty, bytes.count &- range.lowerBound >= 8 {
      // Shift out the bytes after the range.
      let excessBits = UInt64(truncatingIfNeeded: 64 &- 8 &* range.count)
      return (load(bytes, at: range.lowerBound) | ones &* 0x20).byteSwapped &>> excessBits
    }
    var tail: UInt64 = 0
    var index = range.lowerBound
    while index < range.upperBound {
      tail = tail << 8 | UInt64(bytes[index] | 0x20)
      index &+= 1
    }
    return tail
  }

  /// Returns the eight bytes at `position` as one integer, with the first byte in the lowest bits.
  @inline(__always)
  static func load(_ bytes: Span<UInt8>, at position: Int) -> UInt64 {
    // `extracting` checks all bounds at once, so that the compiler emits a single load.
    let eight = bytes.extracting(position..<(position &+ 8))
    return UInt64(eight[0]) | UInt64(eight[1]) << 8 | UInt64(eight[2]) << 16 | UInt64(eight[3]) << 24
      | UInt64(eight[4]) << 32 | UInt64(eight[5]) << 40 | UInt64(eight[6]) << 48 | UInt64(eight[7]) << 56
  }

  /// Returns an integer whose lowest set high bit is in the first byte of `word` below `limit` (at most 0x80).
  @inline(__always)
  private static func below(_ limit: UInt64, _ word: UInt64) -> UInt64 {
    (word &- ones &* limit) & ~word
  }

  /// Like `below`, but for the first byte that equals `byte`.
  @inline(__always)
  private static func equal(_ byte: UInt64, _ word: UInt64) -> UInt64 {
    below(1, word ^ (ones &* byte))
  }

  private static var ones: UInt64 { 0x0101_0101_0101_0101 }
  private static var high: UInt64 { 0x8080_8080_8080_8080 }
}
