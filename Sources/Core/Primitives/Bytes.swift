extension [UInt8] {
  @inlinable package mutating func append(_ bytes: Span<UInt8>) {
    // Empty arrays share one storage. Without this check, several threads would write a length to it: a data race.
    if bytes.isEmpty { return }
    // `append(addingCapacity:)` reserves exactly, so each append would copy everything (T60). Double the capacity.
    let (room, needed) = (capacity, count &+ bytes.count)
    if needed > room, room > 0 { reserveCapacity(Swift.max(needed, room &* 2)) }
    append(addingCapacity: bytes.count) { output in
      for index in bytes.indices { output.append(bytes[index]) }
    }
  }

  @inlinable package mutating func replaceAll(with bytes: Span<UInt8>) {
    let more = bytes.count &- count
    if more > 0 { append(contentsOf: repeatElement(0, count: more)) }
    if more < 0 { removeLast(0 &- more) }
    var span = mutableSpan
    span.copy(from: bytes)
  }

  /// Overwrites the contents with zeros, and keeps the length. Releases arrays of more than 4 KiB instead, without
  /// overwriting them.
  @inlinable package mutating func wipe() {
    if capacity > 4_096 {
      self = []
    } else {
      var span = mutableSpan
      span.update(repeating: 0)
    }
  }

  @inlinable package mutating func append(_ text: String) {
    append(text.utf8.span)
  }

  @inlinable package mutating func append(decimal number: UInt64) {
    withDecimalDigits(of: number) { append($0) }
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

extension MutableSpan<UInt8> {
  /// Copies bytes into a span of the same length. Does nothing if the lengths differ.
  @inlinable @inline(__always)
  package mutating func copy(from bytes: Span<UInt8>) {
    // Most pieces of a message head are short. For these, copying 16, 8 or 4 bytes at a time is faster than the
    // compiler's loop, which is good for long pieces.
    let all = bytes.count
    // With this check, the compiler leaves out the bounds check of each byte.
    guard count == all else { return }
    if all < 4 || all >= 256 {
      for index in 0..<all { self[index] = bytes[index] }
    } else if all < 8 {
      copyFour(from: bytes, at: 0)
      copyFour(from: bytes, at: all &- 4)
    } else if all < 16 {
      copyEight(from: bytes, at: 0)
      // May copy some bytes again.
      copyEight(from: bytes, at: all &- 8)
    } else {
      let last = all &- 16
      var index = 0
      while index < last {
        copySixteen(from: bytes, at: index)
        index &+= 16
      }
      copySixteen(from: bytes, at: last)
    }
  }

  // Reading all bytes before writing the first lets the compiler use one wide load and store.

  @inlinable @inline(__always)
  package mutating func copyFour(from bytes: Span<UInt8>, at start: Int) {
    let from = bytes.extracting(start..<(start &+ 4))
    var to = _mutatingExtracting(start..<(start &+ 4))
    let all = (from[0], from[1], from[2], from[3])
    (to[0], to[1], to[2], to[3]) = all
  }

  @inlinable @inline(__always)
  package mutating func copyEight(from bytes: Span<UInt8>, at start: Int) {
    let from = bytes.extracting(start..<(start &+ 8))
    var to = _mutatingExtracting(start..<(start &+ 8))
    let first = (from[0], from[1], from[2], from[3], from[4], from[5], from[6], from[7])
    (to[0], to[1], to[2], to[3], to[4], to[5], to[6], to[7]) = first
  }

  @inlinable @inline(__always)
  package mutating func copySixteen(from bytes: Span<UInt8>, at start: Int) {
    let from = bytes.extracting(start..<(start &+ 16))
    var to = _mutatingExtracting(start..<(start &+ 16))
    let first = (from[0], from[1], from[2], from[3], from[4], from[5], from[6], from[7])
    let second = (from[8], from[9], from[10], from[11], from[12], from[13], from[14], from[15])
    (to[0], to[1], to[2], to[3], to[4], to[5], to[6], to[7]) = first
    (to[8], to[9], to[10], to[11], to[12], to[13], to[14], to[15]) = second
  }
}

/// Calls `body` with the decimal digits of a number, without leading zeros.
@inlinable package func withDecimalDigits(of number: UInt64, _ body: (Span<UInt8>) -> Void) {
  // A UInt64 has at most 20 digits.
  var digits = InlineArray<20, UInt8>(repeating: 0)
  var (start, rest) = (digits.count, number)
  repeat {
    start &-= 1
    digits[start] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest % 10)
    rest /= 10
  } while rest > 0
  body(digits.span.extracting(start...))
}
