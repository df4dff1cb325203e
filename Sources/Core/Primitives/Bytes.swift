/// The one way bytes are copied here: from a borrowed span to the end of an array, in one go.
extension [UInt8] {
  @inlinable package mutating func append(_ bytes: Span<UInt8>) {
    // All empty arrays share one storage, to which this would write its length from several threads.
    if bytes.isEmpty { return }
    // Room for exactly these would have to be found again for the next ones, with a copy of all (T60).
    let (room, needed) = (capacity, count &+ bytes.count)
    if needed > room, room > 0 { reserveCapacity(Swift.max(needed, room &* 2)) }
    append(addingCapacity: bytes.count) { output in
      for index in bytes.indices { output.append(bytes[index]) }
    }
  }

  /// Takes the place of what there was, with as little ado as can be where one is as long as the other.
  @inlinable package mutating func replaceAll(with bytes: Span<UInt8>) {
    let more = bytes.count &- count
    if more > 0 { append(contentsOf: repeatElement(0, count: more)) }
    if more < 0 { removeLast(0 &- more) }
    var place = mutableSpan
    place.take(bytes)
  }

  /// Nothing that stood there is left. Its room stays for what comes next, and so does its length, since that of the next is
  /// often the same; but not if it is more than heads mostly need.
  @inlinable package mutating func wipe() {
    if capacity > 4_096 {
      self = []
    } else {
      var place = mutableSpan
      place.update(repeating: 0)
    }
  }

  /// The text in UTF-8. Copies; a literal costs no allocation.
  @inlinable package mutating func append(_ text: String) {
    append(text.utf8.span)
  }

  /// The text in UTF-8. More than 15 bytes cost an allocation; a literal takes the other one by itself.
  @inlinable package mutating func append(_ text: StaticString) {
    append(text.description)
  }

  /// The number in decimal digits.
  @inlinable package mutating func append(decimal number: UInt64) {
    var divisor: UInt64 = 1
    while number / divisor >= 10 { divisor &*= 10 }
    repeat {
      append(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: number / divisor % 10))
      divisor /= 10
    } while divisor > 0
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

extension MutableSpan<UInt8> {
  /// Copies bytes, of which there are as many. Heads are made of short pieces: for those sixteen or eight at a time are fewer
  /// steps than what the compiler makes of the plain loop, which is good for long ones.
  @inlinable @inline(__always)
  package mutating func take(_ bytes: Span<UInt8>) {
    let all = bytes.count
    // The compiler has seen the counts compared here, and does not compare them for each byte.
    guard count == all else { return }
    if all < 8 || all >= 256 {
      for index in 0..<all { self[index] = bytes[index] }
    } else if all < 16 {
      appendEight(of: bytes, at: 0)
      // Some of them once more, perhaps.
      appendEight(of: bytes, at: all &- 8)
    } else {
      let last = all &- 16
      var index = 0
      while index < last {
        appendSixteen(of: bytes, at: index)
        index &+= 16
      }
      appendSixteen(of: bytes, at: last)
    }
  }

  // All are read before the first is written, so that the compiler makes one step of them.

  @inlinable @inline(__always)
  package mutating func appendEight(of bytes: Span<UInt8>, at start: Int) {
    let from = bytes.extracting(start..<(start &+ 8))
    var to = _mutatingExtracting(start..<(start &+ 8))
    let first = (from[0], from[1], from[2], from[3], from[4], from[5], from[6], from[7])
    (to[0], to[1], to[2], to[3], to[4], to[5], to[6], to[7]) = first
  }

  @inlinable @inline(__always)
  package mutating func appendSixteen(of bytes: Span<UInt8>, at start: Int) {
    let from = bytes.extracting(start..<(start &+ 16))
    var to = _mutatingExtracting(start..<(start &+ 16))
    let first = (from[0], from[1], from[2], from[3], from[4], from[5], from[6], from[7])
    let second = (from[8], from[9], from[10], from[11], from[12], from[13], from[14], from[15])
    (to[0], to[1], to[2], to[3], to[4], to[5], to[6], to[7]) = first
    (to[8], to[9], to[10], to[11], to[12], to[13], to[14], to[15]) = second
  }
}
