@_spi(SecretBytes) internal import Secrets
internal import System

/// How programs write a whole value into what they answer (T33), beside the ways of `Escape`.
package struct SecretEncodings {
  let value: UnsafeRawBufferPointer

  /// Shorter values are not looked for: they stand in innocent text too often.
  package static let shortestValue = 8

  /// Whether the beginning of a form is no accident: other values begin alike (tokens of one issuer, the base64 of one user's
  /// name), and programs cut what they show.
  static func isMost(_ count: Int, of whole: Int) -> Bool { count >= shortestValue && 2 * count >= whole }

  // MARK: base64 (RFC 4648)

  /// Adds the value in base64, as it stands within a longer text: at each of three alignments, and in both alphabets.
  func addBase64(to list: inout SecretList) throws(SystemError) {
    for alphabet in [Base64Alphabet.standard, .urlSafe] {
      for alignment in 0..<3 {
        try list.add { (text) throws(SystemError) in try appendBase64(alignment, alphabet, to: &text) }
      }
    }
  }

  private enum Base64Alphabet { case standard, urlSafe }

  /// The characters that are the same whatever stands around the value, when `alignment` bytes (modulo 3) stand before it.
  private func appendBase64(_ alignment: Int, _ alphabet: Base64Alphabet, to text: inout Secret) throws(SystemError) {
    var bit = [0, 4, 2][alignment]
    while bit + 6 <= 8 * value.count {
      let index = bit / 8
      let next = index + 1 < value.count ? value[index + 1] : 0
      let pair = UInt16(value[index]) << 8 | UInt16(next)
      try text.append(character(UInt8(truncatingIfNeeded: pair >> UInt16(10 - bit % 8)) & 63, alphabet))
      bit += 6
    }
  }

  private func character(_ digit: UInt8, _ alphabet: Base64Alphabet) -> UInt8 {
    switch digit {
    case 0..<26: UInt8(ascii: "A") + digit
    case 26..<52: UInt8(ascii: "a") + digit - 26
    case 52..<62: UInt8(ascii: "0") + digit - 52
    case 62: alphabet == .standard ? UInt8(ascii: "+") : UInt8(ascii: "-")
    default: alphabet == .standard ? UInt8(ascii: "/") : UInt8(ascii: "_")
    }
  }

  // MARK: in hexadecimal

  /// In digits alone, and with every byte or character escaped. Of the digits either case counts.
  func addHexadecimal(to list: inout SecretList) throws(SystemError) {
    try list.add { (text) throws(SystemError) in
      for byte in value { try text.append(hexadecimal: byte) }
    }
    try list.add { (text) throws(SystemError) in
      for byte in value {
        try text.append(UInt8(ascii: "%"))
        try text.append(hexadecimal: byte)
      }
    }
    try list.add { (text) throws(SystemError) in try appendUTF16(to: &text) }
  }

  /// As a JSON string of \uXXXX alone; nothing if the value is no UTF-8.
  private func appendUTF16(to text: inout Secret) throws(SystemError) {
    let start = text.count
    var scalars = UTF8.ForwardParser()
    var bytes = value.makeIterator()
    while true {
      switch scalars.parseScalar(from: &bytes) {
      case .emptyInput: return
      case .error: return text.removeLast(text.count - start)
      case .valid(let encoded):
        for unit in UTF16.encode(UTF8.decode(encoded)) ?? UTF16.EncodedScalar() {
          try text.append("\\u")
          try text.append(hexadecimal: UInt8(truncatingIfNeeded: unit >> 8))
          try text.append(hexadecimal: UInt8(truncatingIfNeeded: unit))
        }
      }
    }
  }
}
