/// Output buffer: filled piece by piece, sent as a whole, then filled again. Emptying it keeps its memory.
@usableFromInline @frozen package struct ByteBuffer: Sendable {
  /// The `count` written bytes, followed by unused bytes. Do not store a copy, which makes the next append slow.
  @usableFromInline package internal(set) var storage: [UInt8] = []
  @usableFromInline package internal(set) var count = 0

  @inlinable package init() {}

  @inlinable package var isEmpty: Bool { count == 0 }

  /// The written bytes. Do not store the slice, which makes the next append slow.
  @inlinable package var contents: ArraySlice<UInt8> { storage[..<count] }

  @inlinable package mutating func removeAll() { count = 0 }

  /// Removes the contents, and overwrites them with zeros as `[UInt8].wipe` does.
  package mutating func wipe() {
    storage.wipe()
    count = 0
  }
  @inlinable package mutating func truncate(to kept: Int) { count = Swift.max(0, Swift.min(kept, count)) }

  @inlinable package mutating func removeFirst(_ sent: Int) {
    storage.removeFirst(Swift.min(sent, count))
    count = Swift.max(0, count &- sent)
  }

  /// Makes room for `capacity` bytes in total.
  @inlinable package mutating func reserve(_ capacity: Int) {
    if capacity > storage.count { grow(to: capacity) }
  }

  @inlinable package mutating func append(_ byte: UInt8) {
    if count >= storage.count { grow(to: count &+ 1) }
    storage[count] = byte
    count &+= 1
  }

  /// Appends two bytes with one capacity check.
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
    var slice = all._mutatingExtracting(start..<end)
    slice.copy(from: bytes)
    count = end
  }

  @inlinable package mutating func append(contentsOf bytes: [UInt8]) { append(bytes.span) }
  @inlinable package mutating func append(contentsOf bytes: ArraySlice<UInt8>) { append(bytes.span) }

  @inlinable package mutating func append(_ text: String) { append(text.utf8.span) }

  // For a literal, the compiler chooses the `String` overload instead.
  /// Appends the text in UTF-8. Allocates memory if the text has more than 15 bytes.
  @inlinable package mutating func append(_ text: StaticString) { append(text.description) }

  @usableFromInline mutating func grow(to needed: Int) {
    let size = Swift.max(needed, storage.count &* 2, 1_024)
    let zeros = [UInt8](repeating: 0, count: size &- storage.count)
    if storage.isEmpty { storage = zeros } else { storage.append(contentsOf: zeros) }
  }

  @inlinable package mutating func append(decimal number: UInt64) {
    // Most numbers in log lines have one digit.
    if number < 10 { return append(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: number)) }
    var length = 1
    var bound: UInt64 = 10
    // A UInt64 has at most 20 digits, and 10^20 would overflow.
    while length < 20, number >= bound {
      length &+= 1
      bound = bound &* 10
    }
    let (start, end) = (count, count &+ length)
    if end > storage.count { grow(to: end) }
    var all = storage.mutableSpan
    var rest = number
    var index = end
    while index > start {
      index &-= 1
      let tenth = rest / 10
      all[index] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest &- tenth &* 10)
      rest = tenth
    }
    count = end
  }

  /// Appends lower-case digits, without leading zeros.
  @inlinable package mutating func append(hexadecimal number: UInt64) {
    var shift = number == 0 ? 0 : (63 &- UInt64(number.leadingZeroBitCount)) & ~3
    while true {
      append(ASCII.hexDigit(UInt8(truncatingIfNeeded: number >> shift)))
      if shift == 0 { return }
      shift &-= 4
    }
  }
}
