internal import Primitives
@_spi(SecretBytes) internal import Secrets
internal import System

/// Encodes a whole secret value as base64, hexadecimal and other forms to search for (T33).
package struct SecretEncodings {
  let value: UnsafeRawBufferPointer

  /// Minimum length of a value to search for, in bytes.
  package static let shortestValue = 8

  /// Whether a partial match of `count` bytes of a pattern with `whole` bytes is too long to be accidental.
  static func isSignificant(_ count: Int, of whole: Int) -> Bool { count >= shortestValue && 2 * count >= whole }

  // MARK: base64 (RFC 4648)

  /// Adds the base64 forms that the value can have within a longer text, such as `user:password`.
  func addBase64(to list: inout SecretList) throws(SystemError) {
    // One form for each alphabet and each position of the value modulo 3.
    for alphabet in [Base64Alphabet.standard, .urlSafe] {
      for alignment in 0..<3 {
        try list.add { (text) throws(SystemError) in try appendBase64(alignment, alphabet, to: &text) }
      }
    }
  }

  private enum Base64Alphabet { case standard, urlSafe }

  /// Appends the base64 digits that do not depend on the bytes around the value.
  /// - Parameter alignment: number of bytes before the value in the encoded text, modulo 3.
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
    case 62 where alphabet == .urlSafe: UInt8(ascii: "-")
    case 63 where alphabet == .urlSafe: UInt8(ascii: "_")
    default: Base64.character(digit)
    }
  }

  // MARK: hexadecimal

  /// Adds the value as hexadecimal digits, percent-encoding (`%61`) and JSON escapes (`\u0061`).
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
