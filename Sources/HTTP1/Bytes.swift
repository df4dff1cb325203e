/// The one way bytes are copied here: from a borrowed span to the end of an array, in one go.
extension [UInt8] {
  package mutating func append(_ bytes: Span<UInt8>) {
    append(addingCapacity: bytes.count) { output in
      for index in bytes.indices { output.append(bytes[index]) }
    }
  }

  package mutating func append(_ text: StaticString) {
    append(contentsOf: text.description.utf8)
  }

  /// The number in decimal digits.
  package mutating func append(decimal number: UInt64) {
    let start = count
    var rest = number
    repeat {
      append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
      rest /= 10
    } while rest > 0
    self[start...].reverse()
  }
}
