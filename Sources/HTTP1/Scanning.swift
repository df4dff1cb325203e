/// Steps over long runs of good bytes, eight at a time where none of them is one to stop at.
///
/// `extracting` proves the bounds of all eight at once, so that the compiler makes one load of them. SIMD types would
/// say the same and are ten times slower.
enum Scanning {
  /// - Returns: the position of the first byte that a field value or reason phrase cannot hold, or the end.
  @inline(__always)
  static func endOfValue(_ bytes: Span<UInt8>, from start: Int) -> Int {
    var position = start
    while bytes.count &- position >= 8 {
      let word = load(bytes.extracting(position..<(position &+ 8)))
      let stops = (below(0x20, word) | equal(0x7F, word)) & high
      if stops == 0 {
        position &+= 8
      } else {
        position &+= stops.trailingZeroBitCount >> 3
        // HTAB is the one byte among these that is allowed.
        if bytes[position] != Byte.tab { return position }
        position &+= 1
      }
    }
    while position < bytes.count, Grammar.isValue(bytes[position]) { position &+= 1 }
    return position
  }

  /// - Returns: the position of the first byte that a request-target cannot hold, or the end.
  @inline(__always)
  static func endOfTarget(_ bytes: Span<UInt8>, from start: Int) -> Int {
    var position = start
    while bytes.count &- position >= 8 {
      let word = load(bytes.extracting(position..<(position &+ 8)))
      let stops = (word | below(0x21, word) | equal(0x7F, word) | equal(0x23, word)) & high
      if stops != 0 { return position &+ stops.trailingZeroBitCount >> 3 }
      position &+= 8
    }
    while position < bytes.count, Grammar.isTarget(bytes[position]) { position &+= 1 }
    return position
  }

  /// The first byte lowest.
  @inline(__always)
  private static func load(_ eight: Span<UInt8>) -> UInt64 {
    UInt64(eight[0]) | UInt64(eight[1]) << 8 | UInt64(eight[2]) << 16 | UInt64(eight[3]) << 24
      | UInt64(eight[4]) << 32 | UInt64(eight[5]) << 40 | UInt64(eight[6]) << 48 | UInt64(eight[7]) << 56
  }

  /// The high bit of each byte that is below `limit`, which is at most 0x80. Borrows can set bits of later bytes too,
  /// so that only the lowest one that is set can be relied on.
  @inline(__always)
  private static func below(_ limit: UInt64, _ word: UInt64) -> UInt64 {
    (word &- ones &* limit) & ~word
  }

  /// The high bit of each byte that is `byte`, with the same caution.
  @inline(__always)
  private static func equal(_ byte: UInt64, _ word: UInt64) -> UInt64 {
    below(1, word ^ (ones &* byte))
  }

  private static var ones: UInt64 { 0x0101_0101_0101_0101 }
  private static var high: UInt64 { 0x8080_8080_8080_8080 }
}
