/// Bytes on their way out: written piece by piece, sent as one, and written over by the next ones.
///
/// An array asks for room at each append, and drops its elements one by one to be empty again. This keeps its room, so that a
/// piece costs one comparison and its copy.
@usableFromInline @frozen package struct ByteBuffer: Sendable {
  /// Bytes that were written, and behind them those that are there to be written over. Not to be kept, either.
  @usableFromInline package internal(set) var storage: [UInt8] = []
  @usableFromInline package internal(set) var count = 0

  @inlinable package init() {}

  @inlinable package var isEmpty: Bool { count == 0 }

  /// Bytes that were written. Not to be kept: the next append would have to move everything.
  @inlinable package var contents: ArraySlice<UInt8> { storage[..<count] }

  /// Keeps its room.
  @inlinable package mutating func removeAll() { count = 0 }

  /// Keeps the first bytes.
  @inlinable package mutating func truncate(to kept: Int) { count = Swift.max(0, Swift.min(kept, count)) }

  @inlinable package mutating func removeFirst(_ sent: Int) {
    storage.removeFirst(Swift.min(sent, count))
    count = Swift.max(0, count &- sent)
  }

  /// So that no append up to then has to move what is there.
  @inlinable package mutating func reserve(_ capacity: Int) {
    if capacity > storage.count { grow(to: capacity) }
  }

  @inlinable package mutating func append(_ byte: UInt8) {
    if count >= storage.count { grow(to: count &+ 1) }
    storage[count] = byte
    count &+= 1
  }

  /// Both in one step.
  @inlinable package mutating func append(_ first: UInt8, _ second: UInt8) {
    let start = count
    if start &+ 2 > storage.count { grow(to: start &+ 2) }
    var all = storage.mutableSpan
    all[start] = first
    all[start &+ 1] = second
    count = start &+ 2
  }

  @inlinable package mutating func append(_ bytes: Span<UInt8>) {
    let (start, added) = (count, bytes.count)
    let end = start &+ added
    if end > storage.count { grow(to: end) }
    var all = storage.mutableSpan
    var place = all._mutatingExtracting(start..<end)
    place.take(bytes)
    count = end
  }

  @inlinable package mutating func append(contentsOf bytes: [UInt8]) { append(bytes.span) }
  @inlinable package mutating func append(contentsOf bytes: ArraySlice<UInt8>) { append(bytes.span) }

  /// The text in UTF-8.
  @inlinable package mutating func append(_ text: String) { append(text.utf8.span) }

  /// The text in UTF-8. More than 15 bytes cost an allocation; a literal takes the other one by itself.
  @inlinable package mutating func append(_ text: StaticString) { append(text.description) }

  @usableFromInline mutating func grow(to needed: Int) {
    let size = Swift.max(needed, storage.count &* 2, 1_024)
    storage.append(contentsOf: repeatElement(0, count: size &- storage.count))
  }
}

extension ByteBuffer {
  /// The number in decimal digits.
  @inlinable package mutating func append(decimal number: UInt64) {
    // Most numbers of a line of the log are so short.
    if number < 10 { return append(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: number)) }
    var length = 1
    var bound: UInt64 = 10
    // 10^20 is no UInt64: it has at most 20 digits.
    while length < 20, number >= bound {
      length &+= 1
      bound = bound &* 10
    }
    let (start, end) = (count, count &+ length)
    if end > storage.count { grow(to: end) }
    var all = storage.mutableSpan
    var rest = number
    var place = end
    while place > start {
      place &-= 1
      let tenth = rest / 10
      all[place] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest &- tenth &* 10)
      rest = tenth
    }
    count = end
  }

  /// The number in lower-case hexadecimal digits.
  @inlinable package mutating func append(hexadecimal number: UInt64) {
    var shift = number == 0 ? 0 : (63 &- UInt64(number.leadingZeroBitCount)) & ~3
    while true {
      append(ASCII.hexDigit(UInt8(truncatingIfNeeded: number >> shift)))
      if shift == 0 { return }
      shift &-= 4
    }
  }
}
