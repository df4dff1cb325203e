/// The one way bytes are copied here: from a borrowed span to the end of an array, in one go.
extension [UInt8] {
  package mutating func append(_ bytes: Span<UInt8>) {
    append(addingCapacity: bytes.count) { output in
      for index in bytes.indices { output.append(bytes[index]) }
    }
  }

  /// The text in UTF-8. Copies; a literal costs no allocation.
  package mutating func append(_ text: String) {
    append(text.utf8.span)
  }

  /// The text in UTF-8. More than 15 bytes cost an allocation; a literal takes the other one by itself.
  package mutating func append(_ text: StaticString) {
    append(text.description)
  }

  /// The number in decimal digits.
  package mutating func append(decimal number: UInt64) {
    var divisor: UInt64 = 1
    while number / divisor >= 10 { divisor &*= 10 }
    repeat {
      append(Byte.zero &+ UInt8(truncatingIfNeeded: number / divisor % 10))
      divisor /= 10
    } while divisor > 0
  }

  /// The number in lower-case hexadecimal digits.
  package mutating func append(hexadecimal number: UInt64) {
    var shift = number == 0 ? 0 : (63 &- UInt64(number.leadingZeroBitCount)) & ~3
    while true {
      let digit = UInt8(truncatingIfNeeded: number >> shift) & 0xF
      append(digit < 10 ? Byte.zero &+ digit : 0x57 &+ digit)
      if shift == 0 { return }
      shift &-= 4
    }
  }
}
