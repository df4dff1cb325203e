@_spi(SecretBytes) internal import Secrets
internal import Primitives
internal import System

/// The target of a browser's callback: a path, and a form-encoded query, in locked memory.
struct CallbackQuery: ~Copyable {
  enum Value: ~Copyable {
    case none
    case once(Secret)
    /// The field occurs twice or is not valid form encoding, so that parsers could read different values.
    case ambiguous
  }

  let path: [UInt8]
  private let query: Secret
  /// The ranges of each field's encoded name and value in `query`.
  private let fields: [(name: Range<Int>, value: Range<Int>)]

  /// Maximum size of a target, in bytes.
  private static let longest = 16_384

  init(_ target: Span<UInt8>, in arena: SecretArena) throws(SystemError) {
    var end = 0
    while end < target.count, target[end] != UInt8(ascii: "?") { end += 1 }
    let start = min(end + 1, target.count)
    var query = try Secret(capacity: 1024, in: arena)
    var fields: [(name: Range<Int>, value: Range<Int>)] = []
    var path: [UInt8] = []
    if target.count <= Self.longest {
      for index in 0..<end { path.append(target[index]) }
      try target.extracting(start..<target.count).withUnsafeBytes { (bytes) throws(SystemError) in
        try query.append(bytes)
        for field in bytes.split(separator: UInt8(ascii: "&")) {
          let nameEnd = field.firstIndex(of: UInt8(ascii: "=")) ?? field.endIndex
          fields.append((field.startIndex..<nameEnd, min(nameEnd + 1, field.endIndex)..<field.endIndex))
        }
      }
    }
    self.path = path
    self.query = query
    self.fields = fields
  }

  func has(_ name: StaticString) -> Bool { fields.contains { isNamed($0.name, name) } }

  func value(_ name: StaticString, in arena: SecretArena) throws(SystemError) -> Value {
    let found = fields.filter { isNamed($0.name, name) }
    guard let field = found.first else { return .none }
    guard found.count == 1 else { return .ambiguous }
    let value = try query.withBytes { (bytes) throws(SystemError) -> Secret? in
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
    query.withBytes { bytes in
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
