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
      let word = load(bytes, at: position)
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
      let word = load(bytes, at: position)
      let stops = (below(0x21, word) | equal(0x7F, word) | equal(0x23, word)) & high
      if stops != 0 { return position &+ stops.trailingZeroBitCount >> 3 }
      position &+= 8
    }
    while position < bytes.count, Grammar.isTarget(bytes[position]) { position &+= 1 }
    return position
  }

  /// - Parameter position: of the first byte that is not known to be of a name: what stands before it is.
  /// - Returns: the position of the first byte that is neither letter nor `-`, which is all that most names are made of, as far
  ///   as whole words show it.
  @inline(__always)
  static func endOfLetters(_ bytes: Span<UInt8>, from start: Int) -> Int {
    var position = start
    while bytes.count &- position >= 8 {
      let word = load(bytes, at: position)
      // Seven bits each, so that no sum reaches the next byte.
      let folded = (word & ~high) | ones &* 0x20
      let letters = (folded &+ ones &* (0x80 &- 0x61)) & ~(folded &+ ones &* (0x80 &- 0x7B))
      let dashes = ~((((word ^ ones &* 0x2D) & ~high) &+ ~high) | (word ^ ones &* 0x2D))
      let stops = ~((letters & ~word) | dashes) & high
      if stops != 0 { return position &+ stops.trailingZeroBitCount >> 3 }
      position &+= 8
    }
    return position
  }

  /// The last eight bytes before `end`, in lower case and the last one lowest; of a shorter text all of it. Letters and `-` only.
  @inline(__always)
  static func foldedTail(_ bytes: Span<UInt8>, _ range: Range<Int>) -> UInt64 {
    if range.count >= 8 {
      return (load(bytes, at: range.upperBound &- 8) | ones &* 0x20).byteSwapped
    }
    if !range.isEmpty, bytes.count &- range.lowerBound >= 8 {
      // Without those that stand behind it.
      let behind = UInt64(truncatingIfNeeded: 64 &- 8 &* range.count)
      return (load(bytes, at: range.lowerBound) | ones &* 0x20).byteSwapped &>> behind
    }
    var tail: UInt64 = 0
    var index = range.lowerBound
    while index < range.upperBound {
      tail = tail << 8 | UInt64(bytes[index] | 0x20)
      index &+= 1
    }
    return tail
  }

  /// Eight bytes, the first one lowest.
  @inline(__always)
  static func load(_ bytes: Span<UInt8>, at position: Int) -> UInt64 {
    let eight = bytes.extracting(position..<(position &+ 8))
    return UInt64(eight[0]) | UInt64(eight[1]) << 8 | UInt64(eight[2]) << 16 | UInt64(eight[3]) << 24
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
