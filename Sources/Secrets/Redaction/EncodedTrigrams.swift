/// Enumerates the sequences of three bytes by which a search finds a secret value, unencoded or encoded.
struct EncodedTrigrams {
  let value: UnsafeRawBufferPointer
  /// Distance in bytes between the positions of a text that the search looks at.
  let stride: Int

  private struct Spelling {
    private var bits: UInt128 = 0
    private(set) var count = 0
    /// Number of bytes of the secret value that this encoded text stands for.
    let advance: Int

    init(_ text: StaticString = "", advance: Int = 1) {
      self.advance = advance
      append(text)
    }

    subscript(index: Int) -> UInt8 { UInt8(truncatingIfNeeded: bits >> UInt128(8 * index)) }

    mutating func append(_ byte: UInt8) {
      bits |= UInt128(byte) << UInt128(8 * count)
      count += 1
    }

    mutating func append(_ text: StaticString) {
      for index in 0..<text.utf8CodeUnitCount { append(text.utf8Start[index]) }
    }

    mutating func append(_ number: UInt32, radix: UInt32, digits: Int) {
      var divisor: UInt32 = 1
      for _ in 1..<digits { divisor *= radix }
      while divisor > 0 {
        let digit = UInt8(truncatingIfNeeded: number / divisor % radix)
        append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") - 10 + digit)
        divisor /= radix
      }
    }
  }

  /// Calls `body` with each sequence that begins in the first `stride` bytes of the value.
  func forEach(_ body: (UInt32) -> Void) {
    for index in 0..<min(stride, value.count) {
      forEachSpelling(at: index) { spelling in
        for offset in 0..<spelling.count where index + offset < stride {
          extend(spelling, from: offset, into: 0, count: 0, at: index, body)
        }
      }
    }
  }

  /// Calls `body` with each byte that can be the first byte of the value, unencoded or encoded.
  func forEachFirst(_ body: (UInt8) -> Void) {
    forEachSpelling(at: 0) { body($0[0]) }
  }

  private func extend(
    _ spelling: Spelling, from offset: Int, into sample: UInt32, count: Int, at index: Int, _ body: (UInt32) -> Void
  ) {
    var sample = sample
    var count = count
    for offset in offset..<spelling.count {
      sample |= UInt32(spelling[offset]) << UInt32(8 * count)
      count += 1
      if count == Sample.size { return body(sample) }
    }
    forEachSpelling(at: index + spelling.advance) {
      extend($0, from: 0, into: sample, count: count, at: index + spelling.advance, body)
    }
  }

  // MARK: spellings that `Escape` decodes

  private func forEachSpelling(at index: Int, _ body: (Spelling) -> Void) {
    guard index < value.count else { return }
    let byte = value[index]
    var plain = Spelling()
    plain.append(byte)
    body(plain)
    guard Escape.canEncode(byte) else { return }
    var percent = Spelling("%")
    percent.append(UInt32(byte), radix: 16, digits: 2)
    body(percent)
    if let short = short(byte) { body(Spelling(short)) }
    if let (scalar, length) = scalar(at: index) { forEachSpelling(of: scalar, length: length, body) }
  }

  private func short(_ byte: UInt8) -> StaticString? {
    switch byte {
    case UInt8(ascii: " "): "+"
    case UInt8(ascii: "/"): #"\/"#
    case UInt8(ascii: "\\"): #"\\"#
    case UInt8(ascii: "\t"): #"\t"#
    default: nil
    }
  }

  private func forEachSpelling(of scalar: Unicode.Scalar, length: Int, _ body: (Spelling) -> Void) {
    var units = Spelling(advance: length)
    for unit in UTF16.encode(scalar) ?? UTF16.EncodedScalar() {
      units.append(#"\u"#)
      units.append(UInt32(unit), radix: 16, digits: 4)
    }
    body(units)
    for (start, radix) in [("&#", 10), ("&#x", 16)] as [(StaticString, UInt32)] {
      let digits = String(scalar.value, radix: Int(radix)).utf8.count
      for digits in digits...(digits + 1) {
        var number = Spelling(start, advance: length)
        number.append(scalar.value, radix: radix, digits: digits)
        number.append(";")
        body(number)
      }
    }
    for name in names(scalar) { body(Spelling(name, advance: length)) }
  }

  private func names(_ scalar: Unicode.Scalar) -> [StaticString] {
    switch scalar {
    case "\"": [#"\""#, "&quot;"]
    case "&": ["&amp;"]
    case "'": ["&apos;"]
    case "<": ["&lt;"]
    case ">": ["&gt;"]
    default: []
    }
  }

  private func scalar(at index: Int) -> (Unicode.Scalar, length: Int)? {
    var scalars = UTF8.ForwardParser()
    var bytes = value[index...].makeIterator()
    guard case .valid(let encoded) = scalars.parseScalar(from: &bytes) else { return nil }
    return (UTF8.decode(encoded), encoded.count)
  }
}
