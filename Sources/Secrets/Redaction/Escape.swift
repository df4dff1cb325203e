import Primitives

/// A byte or a character that a text has in other words: in percent-encoding (RFC 3986 section 2.1) and forms (`+`), in
/// strings of JSON (RFC 8259 section 7), as a reference of HTML and XML. Hexadecimal digits may have either case.
struct Escape {
  /// Bytes of the text.
  let length: Int
  /// The first in the lowest place; UTF-8.
  let bytes: UInt32
  let count: Int

  /// The reading of one place of a text.
  enum Reading {
    case escape(Escape)
    case other
    /// The text ends within what could be one.
    case cut

    init(_ text: UnsafeRawBufferPointer, at position: Int) {
      do throws(Cut) {
        self = try Escape.read(text, at: position).map { .escape($0) } ?? .other
      } catch {
        self = .cut
      }
    }
  }

  fileprivate struct Cut: Error {}

  /// The most bytes of text that an escape can take per byte that it stands for.
  static let longest = 12

  static func canBegin(with byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "%"), UInt8(ascii: "+"), UInt8(ascii: "\\"), UInt8(ascii: "&"): true
    default: false
    }
  }

  /// Every standard encoder leaves letters and digits as they are.
  static func canStand(for byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "a")...UInt8(ascii: "z"):
      false
    default: true
    }
  }

  /// Whether it stands for what is there in a value, which is long enough.
  func stands(for value: UnsafeRawBufferPointer, at index: Int) -> Bool {
    (0..<count).allSatisfy { value[index + $0] == UInt8(truncatingIfNeeded: bytes >> UInt32(8 * $0)) }
  }

  /// - Returns: nil if none stands there.
  private static func read(_ text: UnsafeRawBufferPointer, at position: Int) throws(Cut) -> Escape? {
    var reader = Reader(text: text, start: position)
    switch try reader.next() {
    case UInt8(ascii: "%"): return try reader.percent()
    case UInt8(ascii: "+"): return reader.escape(of: " ")
    case UInt8(ascii: "\\"): return try reader.backslash()
    case UInt8(ascii: "&"): return try reader.reference()
    default: return nil
    }
  }
}

extension Escape {
  fileprivate struct Reader {
    let text: UnsafeRawBufferPointer
    let start: Int
    private var position: Int

    init(text: UnsafeRawBufferPointer, start: Int) {
      self.text = text
      self.start = start
      position = start
    }

    mutating func next() throws(Cut) -> UInt8 {
      guard position < text.count else { throw Cut() }
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

    mutating func percent() throws(Cut) -> Escape? {
      guard let byte = try hexadecimal(2) else { return nil }
      return Escape(length: 3, bytes: byte, count: 1)
    }

    mutating func backslash() throws(Cut) -> Escape? {
      switch try next() {
      case UInt8(ascii: "u"): try utf16()
      case UInt8(ascii: "\""): escape(of: "\"")
      case UInt8(ascii: "\\"): escape(of: "\\")
      case UInt8(ascii: "/"): escape(of: "/")
      case UInt8(ascii: "t"): escape(of: "\t")
      default: nil
      }
    }

    private mutating func utf16() throws(Cut) -> Escape? {
      guard let unit = try hexadecimal(4) else { return nil }
      guard unit & 0xFC00 == 0xD800 else { return Unicode.Scalar(unit).flatMap { escape(of: $0) } }
      guard try next() == UInt8(ascii: "\\"), try next() == UInt8(ascii: "u"), let low = try hexadecimal(4),
        low & 0xFC00 == 0xDC00
      else { return nil }
      return Unicode.Scalar(0x1_0000 + (unit & 0x3FF) << 10 + low & 0x3FF).flatMap { escape(of: $0) }
    }

    /// `&amp;` and its like; `&#39;`, `&#039;`, `&#x27;`.
    mutating func reference() throws(Cut) -> Escape? {
      switch try next() {
      case UInt8(ascii: "#"): return try number()
      case UInt8(ascii: "a"):
        switch try next() {
        case UInt8(ascii: "m"): return try has("p;") ? escape(of: "&") : nil
        case UInt8(ascii: "p"): return try has("os;") ? escape(of: "'") : nil
        default: return nil
        }
      case UInt8(ascii: "l"): return try has("t;") ? escape(of: "<") : nil
      case UInt8(ascii: "g"): return try has("t;") ? escape(of: ">") : nil
      case UInt8(ascii: "q"): return try has("uot;") ? escape(of: "\"") : nil
      default: return nil
      }
    }

    private mutating func has(_ rest: StaticString) throws(Cut) -> Bool {
      for index in 0..<rest.utf8CodeUnitCount where try next() != rest.utf8Start[index] { return false }
      return true
    }

    /// With one zero before it at most: others do not write more, and its length has a limit.
    private mutating func number() throws(Cut) -> Escape? {
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

    private mutating func hexadecimal(_ count: Int) throws(Cut) -> UInt32? {
      var value: UInt32 = 0
      for _ in 0..<count {
        guard let digit = ASCII.hexValue(try next()) else { return nil }
        value = value << 4 | UInt32(digit)
      }
      return value
    }
  }
}
