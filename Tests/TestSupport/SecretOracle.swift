/// Finds the parts of a text that must be masked by comparing every position with every form (T33). Slow, and
/// independent of the daemon, which decodes escapes instead.
package struct SecretOracle {
  private let value: [UInt8]
  private let forms: [[UInt8]]
  private let hexadecimalForms: [[UInt8]]
  /// The possible spellings of the value at each index.
  private let spellings: [[Spelling]]
  /// Whether any form or spelling begins with the byte.
  private var isFirst = Array(repeating: false, count: 256)

  package struct Spelling {
    package var text: [UInt8]
    /// The positions of hexadecimal digits, which match in any letter case.
    package var digits: [Int]
    package var advance: Int
  }

  package init(_ value: [UInt8]) {
    self.value = value
    forms = (0..<3).flatMap { alignment in
      let form = base64(value, alignment)
      return [
        form,
        form.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: "-") : $0 == UInt8(ascii: "/") ? UInt8(ascii: "_") : $0 },
      ]
    }
    let digits = value.map { hexadecimal(UInt32($0), 2) }
    hexadecimalForms =
      [digits.flatMap { $0 }, digits.flatMap { [UInt8(ascii: "%")] + $0 }]
      + (String(validating: value, as: UTF8.self).map {
        [$0.utf16.flatMap { Array(#"\u"#.utf8) + hexadecimal(UInt32($0), 4) }]
      } ?? [])
    spellings = value.indices.map { spelled(value, at: $0) }
    for byte in (forms + hexadecimalForms + spellings[0].map(\.text)).map({ $0[0] }) {
      isFirst[Int(byte)] = true
      if (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte) { isFirst[Int(byte - 32)] = true }
    }
  }

  /// Returns the spellings of the byte at this index, or of the character that begins there. The first spelling is the
  /// byte itself.
  package func spellings(at index: Int) -> [Spelling] { spellings[index] }

  package var wholeForms: [[UInt8]] { forms + hexadecimalForms }

  /// Returns the ranges of the value in a text, in any form.
  package func ranges(in text: [UInt8]) -> [Range<Int>] {
    var ranges: [Range<Int>] = []
    for start in text.indices where isFirst[Int(text[start])] {
      for form in forms where form[0] == text[start] && text[start...].starts(with: form) {
        ranges.append(start..<(start + form.count))
      }
      for form in hexadecimalForms where text[start...].starts(with: form, by: { folded($0) == folded($1) }) {
        ranges.append(start..<(start + form.count))
      }
      for end in ends(in: text, from: start) { ranges.append(start..<end) }
    }
    return ranges
  }

  package func masked(_ text: [UInt8]) -> [UInt8] {
    var masked = text
    for range in ranges(in: text) { for index in range { masked[index] = UInt8(ascii: "*") } }
    return masked
  }

  private func ends(in text: [UInt8], from start: Int) -> Set<Int> {
    var states: Set<[Int]> = [[start, 0]]
    var ends: Set<Int> = []
    while let state = states.popFirst() {
      if state[1] == value.count {
        ends.insert(state[0])
        continue
      }
      for spelling in spellings[state[1]] where matches(spelling, in: text, at: state[0]) {
        states.insert([state[0] + spelling.text.count, state[1] + spelling.advance])
      }
    }
    return ends
  }

  private func matches(_ spelling: Spelling, in text: [UInt8], at start: Int) -> Bool {
    guard text.count - start >= spelling.text.count else { return false }
    for (index, byte) in spelling.text.enumerated() where text[start + index] != byte {
      guard spelling.digits.contains(index), folded(text[start + index]) == folded(byte) else { return false }
    }
    return true
  }
}

private func folded(_ byte: UInt8) -> UInt8 {
  (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte + 32 : byte
}

private func hexadecimal(_ number: UInt32, _ count: Int) -> [UInt8] {
  let digits = Array(String(number, radix: 16).utf8)
  return Array(repeating: UInt8(ascii: "0"), count: max(0, count - digits.count)) + digits
}

/// Returns base64 with padding.
package func paddedBase64(_ text: [UInt8]) -> [UInt8] {
  let missing = (3 - text.count % 3) % 3
  return base64(text + Array(repeating: 0, count: missing), 0).dropLast(missing)
    + Array(repeating: UInt8(ascii: "="), count: missing)
}

/// Returns the base64 characters that consist only of bits of the value.
private func base64(_ value: [UInt8], _ alignment: Int) -> [UInt8] {
  let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  let bits = value.flatMap { byte in (0..<8).reversed().map { byte >> $0 & 1 } }.dropFirst([0, 4, 2][alignment])
  return stride(from: bits.startIndex, through: bits.endIndex - 6, by: 6).map { start in
    alphabet[Int(bits[start..<(start + 6)].reduce(0) { $0 << 1 | $1 })]
  }
}

private func spelled(_ value: [UInt8], at index: Int) -> [SecretOracle.Spelling] {
  var all: [SecretOracle.Spelling] = []
  func add(_ text: some Sequence<UInt8>, digits: [Int] = [], advance: Int = 1) {
    all.append(SecretOracle.Spelling(text: Array(text), digits: digits, advance: advance))
  }
  let byte = value[index]
  add([byte])
  let character = Unicode.Scalar(byte)
  if character.isASCII, character.properties.isAlphabetic || ("0"..."9").contains(character) { return all }
  add([UInt8(ascii: "%")] + hexadecimal(UInt32(byte), 2), digits: [1, 2])
  let short: [Unicode.Scalar: [String]] = [
    " ": ["+"], "/": [#"\/"#], "\\": [#"\\"#], "\t": [#"\t"#], "\"": [#"\""#, "&quot;"], "&": ["&amp;"],
    "'": ["&apos;"],
    "<": ["&lt;"], ">": ["&gt;"],
  ]
  for text in short[character] ?? [] { add(text.utf8) }
  for length in 1...4 where index + length <= value.count {
    guard let text = String(validating: value[index..<(index + length)], as: UTF8.self),
      let scalar = text.unicodeScalars.first,
      text.unicodeScalars.count == 1
    else { continue }
    let units = text.utf16.flatMap { Array(#"\u"#.utf8) + hexadecimal(UInt32($0), 4) }
    add(units, digits: units.indices.filter { $0 % 6 > 1 }, advance: length)
    let decimal = String(scalar.value)
    let sixteens = String(scalar.value, radix: 16)
    for zeros in ["", "0"] {
      add("&#\(zeros)\(decimal);".utf8, advance: length)
      let reference = "&#x\(zeros)\(sixteens);"
      add(reference.utf8, digits: Array(2..<reference.utf8.count), advance: length)
    }
  }
  return all
}
