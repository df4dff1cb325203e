@_spi(SecretBytes) internal import Secrets
internal import Primitives
internal import System

/// The fields of `application/x-www-form-urlencoded` text (WHATWG URL section 5.1), in locked memory.
struct FormFields: ~Copyable {
  enum Value: ~Copyable {
    case none
    case once(Secret)
    /// The field occurs twice or is not valid form encoding, so that parsers could read different values.
    case ambiguous
  }

  private let text: Secret
  /// The ranges of each field's encoded name and value in `text`.
  private let fields: [(name: Range<Int>, value: Range<Int>)]

  /// Maximum size of the text, in bytes.
  static let longest = 16_384

  /// Copies the text. A text that is longer than `longest` has no fields.
  init(_ text: Span<UInt8>, in arena: SecretArena) throws(SystemError) {
    var copy = try Secret(capacity: 1024, in: arena)
    var fields: [(name: Range<Int>, value: Range<Int>)] = []
    if text.count <= Self.longest {
      try text.withUnsafeBytes { (bytes) throws(SystemError) in
        try copy.append(bytes)
        for field in bytes.split(separator: UInt8(ascii: "&")) {
          let nameEnd = field.firstIndex(of: UInt8(ascii: "=")) ?? field.endIndex
          fields.append((field.startIndex..<nameEnd, min(nameEnd + 1, field.endIndex)..<field.endIndex))
        }
      }
    }
    self.text = copy
    self.fields = fields
  }

  func has(_ name: StaticString) -> Bool { fields.contains { isNamed($0.name, name) } }

  func value(_ name: StaticString, in arena: SecretArena) throws(SystemError) -> Value {
    let found = fields.filter { isNamed($0.name, name) }
    guard let field = found.first else { return .none }
    guard found.count == 1 else { return .ambiguous }
    let value = try text.withBytes { (bytes) throws(SystemError) -> Secret? in
      var value = try Secret(capacity: max(1, field.value.count), in: arena)
      var index = field.value.lowerBound
      while index < field.value.upperBound {
        guard let (byte, length) = Self.decoded(bytes, index, field.value.upperBound) else { return nil }
        try value.append(byte)
        index += length
      }
      return value
    }
    guard let value else { return .ambiguous }
    return .once(value)
  }

  private func isNamed(_ range: Range<Int>, _ name: StaticString) -> Bool {
    text.withBytes { bytes in
      name.withUTF8Buffer { name in
        var (index, matched) = (range.lowerBound, 0)
        while index < range.upperBound, matched < name.count {
          guard let (byte, length) = Self.decoded(bytes, index, range.upperBound), byte == name[matched] else {
            return false
          }
          index += length
          matched += 1
        }
        return index == range.upperBound && matched == name.count
      }
    }
  }

  /// Decodes one form-encoded byte, and returns the length of its encoding. `nil` for an invalid percent escape.
  private static func decoded(_ bytes: UnsafeRawBufferPointer, _ index: Int, _ end: Int) -> (byte: UInt8, length: Int)?
  {
    switch bytes[index] {
    case UInt8(ascii: "+"): return (UInt8(ascii: " "), 1)
    case UInt8(ascii: "%"):
      guard end - index >= 3, let high = ASCII.hexValue(bytes[index + 1]), let low = ASCII.hexValue(bytes[index + 2])
      else { return nil }
      return (high << 4 | low, 3)
    case let byte: return (byte, 1)
    }
  }
}
