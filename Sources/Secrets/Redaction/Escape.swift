import Primitives

/// An encoded byte or character of a text: percent-encoded, a `+` in a form, a JSON escape, or a character reference.
struct Escape {
  /// Number of bytes that the escape has in the text.
  let length: Int
  /// The decoded bytes in UTF-8, the first byte in the lowest bits.
  let bytes: UInt32
  /// Number of decoded bytes.
  let count: Int

  enum DecodingResult {
    case escape(Escape)
    case notAnEscape
    /// The text ends within a possible escape.
    case truncated

    init(_ text: UnsafeRawBufferPointer, at position: Int) {
      do throws(Truncated) {
        self = try Escape.read(text, at: position).map { .escape($0) } ?? .notAnEscape
      } catch {
        self = .truncated
      }
    }
  }

  fileprivate struct Truncated: Error {}

  /// Maximum number of bytes of text that encode one byte.
  static let longest = 12

  static func canBegin(with byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "%"), UInt8(ascii: "+"), UInt8(ascii: "\\"), UInt8(ascii: "&"): true
    default: false
    }
  }

  /// Whether an encoder may escape the byte: any byte except letters and digits.
  static func canEncode(_ byte: UInt8) -> Bool { !ASCII.isLetterOrDigit(byte) }

  /// Whether the decoded bytes equal the bytes of `value` at `index`.
  func matches(_ value: UnsafeRawBufferPointer, at index: Int) -> Bool {
    // At least `count` bytes must follow `index`.
    (0..<count).allSatisfy { value[index + $0] == UInt8(truncatingIfNeeded: bytes >> UInt32(8 * $0)) }
  }

  private static func read(_ text: UnsafeRawBufferPointer, at position: Int) throws(Truncated) -> Escape? {
    var reader = Reader(text: text, start: position)
    switch try reader.next() {
    case UInt8(ascii: "%"): return try reader.percent()
    case UInt8(ascii: "+"): return reader.escape(of: " ")
    case UInt8(ascii: "\\"): return try reader.backslash()
    case UInt8(ascii: "&"): return try reader.reference()
    default: return nil
    }
  }

  fileprivate struct Reader {
    let text: UnsafeRawBufferPointer
    let start: Int
    private var position: Int

    init(text: UnsafeRawBufferPointer, start: Int) {
      self.text = text
      self.start = start
      position = start
    }

    mutating func next() throws(Truncated) -> UInt8 {
      guard position < text.count else { throw Truncated() }
      defer { position += 1 }
      return text[position]
    }

    func escape(of scalar: Unicode.Scalar) -> Escape? {
      guard let encoded = UTF8.encode(scalar) else { return nil }
      var bytes: UInt32 = 0
      var count = 0
      for byte in encoded {
        bytes |= UInt32(byte) << UInt32(8 * count)
        count += 1
      }
      return Escape(length: position - start, bytes: bytes, count: count)
    }

    mutating func percent() throws(Truncated) -> Escape? {
      guard let byte = try hexadecimal(2) else { return nil }
      return Escape(length: 3, bytes: byte, count: 1)
    }

    mutating func backslash() throws(Truncated) -> Escape? {
      switch try next() {
      case UInt8(ascii: "u"): try utf16()
      case UInt8(ascii: "\""): escape(of: "\"")
      case UInt8(ascii: "\\"): escape(of: "\\")
      case UInt8(ascii: "/"): escape(of: "/")
      case UInt8(ascii: "t"): escape(of: "\t")
      default: nil
      }
    }

    private mutating func utf16() throws(Truncated) -> Escape? {
      guard let unit = try hexadecimal(4) else { return nil }
      guard unit & 0xFC00 == 0xD800 else { return Unicode.Scalar(unit).flatMap { escape(of: $0) } }
      guard try next() == UInt8(ascii: "\\"), try next() == UInt8(ascii: "u"), let low = try hexadecimal(4),
        low & 0xFC00 == 0xDC00
      else { return nil }
      return Unicode.Scalar(0x1_0000 + (unit & 0x3FF) << 10 + low & 0x3FF).flatMap { escape(of: $0) }
    }

    /// Decodes an HTML or XML character reference, such as `&amp;` or `&#x27;`.
    mutating func reference() throws(Truncated) -> Escape? {
      switch try next() {
      case UInt8(ascii: "#"): return try number()
      case UInt8(ascii: "a"):
        switch try next() {
        case UInt8(ascii: "m"): return try readLiteral("p;") ? escape(of: "&") : nil
        case UInt8(ascii: "p"): return try readLiteral("os;") ? escape(of: "'") : nil
        default: return nil
        }
      case UInt8(ascii: "l"): return try readLiteral("t;") ? escape(of: "<") : nil
      case UInt8(ascii: "g"): return try readLiteral("t;") ? escape(of: ">") : nil
      case UInt8(ascii: "q"): return try readLiteral("uot;") ? escape(of: "\"") : nil
      default: return nil
      }
    }

    private mutating func readLiteral(_ rest: StaticString) throws(Truncated) -> Bool {
      for index in 0..<rest.utf8CodeUnitCount where try next() != rest.utf8Start[index] { return false }
      return true
    }

    /// Decodes a numeric character reference with at most one leading zero.
    private mutating func number() throws(Truncated) -> Escape? {
      // Encoders do not write more zeros, and escapes must have a maximum length.
      var byte = try next()
      let radix: UInt32 = byte | 0x20 == UInt8(ascii: "x") ? 16 : 10
      if radix == 16 { byte = try next() }
      var value: UInt32 = 0
      var digits = 0
      while let digit = ASCII.hexValue(byte).map(UInt32.init), digit < radix, digits < 2 || value > 0,
        value <= 0x10_FFFF
      {
        value = value * radix + digit
        digits += 1
        byte = try next()
      }
      guard digits > 0, byte == UInt8(ascii: ";") else { return nil }
      return Unicode.Scalar(value).flatMap { escape(of: $0) }
    }

    private mutating func hexadecimal(_ count: Int) throws(Truncated) -> UInt32? {
      var value: UInt32 = 0
      for _ in 0..<count {
        guard let digit = ASCII.hexValue(try next()) else { return nil }
        value = value << 4 | UInt32(digit)
      }
      return value
    }
  }
}
