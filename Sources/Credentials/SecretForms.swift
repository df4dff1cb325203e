internal import System

/// How programs write a value into what they answer (T33): the forms in which it would come back.
struct SecretForms {
  let value: UnsafeRawBufferPointer

  /// Shorter values are not looked for: they stand in innocent text too often.
  static let shortestValue = 8

  /// Adds each form once; for most tokens they are few. Nothing for a value that is too short.
  func add(to list: inout SecretList) throws(SystemError) {
    guard value.count >= SecretForms.shortestValue else { return }
    try list.add { (text) throws(SystemError) in try text.append(value) }
    for alphabet in [Base64Alphabet.standard, .urlSafe] {
      for alignment in 0..<3 {
        try list.add { (text) throws(SystemError) in try appendBase64(alignment, alphabet, to: &text) }
      }
    }
    for isUpper in [false, true] {
      try list.add { (text) throws(SystemError) in
        for byte in value { try text.append(hexadecimal: byte, isUpper: isUpper) }
      }
      for style in PercentStyle.all {
        try list.add { (text) throws(SystemError) in try appendPercent(style, isUpper, to: &text) }
      }
    }
    for style in JSONStyle.all {
      try list.add { (text) throws(SystemError) in try appendJSON(style, to: &text) }
    }
  }

  // MARK: base64 (RFC 4648)

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

  // MARK: percent-encoding (RFC 3986 section 2.1)

  /// What an encoder leaves as it is besides letters and digits.
  private struct PercentStyle {
    let kept: StaticString
    var writesPlus = false

    static let all = [
      PercentStyle(kept: "-._~"),
      PercentStyle(kept: "-._~/"),
      PercentStyle(kept: "-._~!'()*"),
      // WHATWG URL, application/x-www-form-urlencoded
      PercentStyle(kept: "-._*", writesPlus: true),
    ]

    func keeps(_ byte: UInt8) -> Bool {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "a")...UInt8(ascii: "z"):
        true
      default: kept.withUTF8Buffer { $0.contains(byte) }
      }
    }
  }

  private func appendPercent(_ style: PercentStyle, _ isUpper: Bool, to text: inout Secret) throws(SystemError) {
    for byte in value {
      if style.writesPlus, byte == UInt8(ascii: " ") {
        try text.append(UInt8(ascii: "+"))
      } else if style.keeps(byte) {
        try text.append(byte)
      } else {
        try text.append(UInt8(ascii: "%"))
        try text.append(hexadecimal: byte, isUpper: isUpper)
      }
    }
  }

  // MARK: JSON strings (RFC 8259 section 7)

  private struct JSONStyle {
    /// What is written as \uXXXX besides.
    var escaped: StaticString = ""
    var escapesSlash = false
    var isASCII = false
    var isUpper = false

    static let all = [
      JSONStyle(), JSONStyle(escapesSlash: true), JSONStyle(escaped: "<>&"), JSONStyle(isASCII: true),
      JSONStyle(escapesSlash: true, isASCII: true),
      JSONStyle(escaped: "\"&'+<>`", isASCII: true, isUpper: true),
    ]
  }

  private func appendJSON(_ style: JSONStyle, to text: inout Secret) throws(SystemError) {
    var scalars = UTF8.ForwardParser()
    var bytes = value.makeIterator()
    while true {
      switch scalars.parseScalar(from: &bytes) {
      case .emptyInput: return
      // Not UTF-8: no JSON, and nobody knows what a program makes of it.
      case .error: return
      case .valid(let encoded): try append(UTF8.decode(encoded), encoded, style, to: &text)
      }
    }
  }

  private func append(
    _ scalar: Unicode.Scalar, _ encoded: UTF8.EncodedScalar, _ style: JSONStyle, to text: inout Secret
  ) throws(SystemError) {
    let backslash = UInt8(ascii: "\\")
    let isEscaped = scalar.isASCII && style.escaped.withUTF8Buffer { $0.contains(UInt8(ascii: scalar)) }
    if isEscaped || (style.isASCII && !scalar.isASCII) {
      for unit in UTF16.encode(scalar) ?? UTF16.EncodedScalar() {
        try text.append(backslash)
        try text.append(UInt8(ascii: "u"))
        try text.append(hexadecimal: UInt8(truncatingIfNeeded: unit >> 8), isUpper: style.isUpper)
        try text.append(hexadecimal: UInt8(truncatingIfNeeded: unit), isUpper: style.isUpper)
      }
      return
    }
    switch scalar {
    case "\"", "\\": try text.append(backslash)
    case "/": if style.escapesSlash { try text.append(backslash) }
    case "\t":
      try text.append("\\t")
      return
    default: break
    }
    for byte in encoded { try text.append(byte) }
  }
}

extension Secret {
  fileprivate mutating func append(hexadecimal byte: UInt8, isUpper: Bool) throws(SystemError) {
    let letter = (isUpper ? UInt8(ascii: "A") : UInt8(ascii: "a")) - 10
    for digit in [byte >> 4, byte & 15] { try append(digit < 10 ? UInt8(ascii: "0") + digit : letter + digit) }
  }
}
