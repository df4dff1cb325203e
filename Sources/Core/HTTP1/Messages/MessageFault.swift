/// The location and the details of a fault in a message. Never contains a field value.
package struct MessageFault: Sendable, Equatable, CustomStringConvertible {
  /// The number of the faulty line, counted from 1; `nil` if the fault is not in a single line.
  package var line: Int?
  /// The name of the faulty field of a response, as a range of the reader's input; `nil` if unknown.
  package var name: Range<Int>?
  /// The number of fields, if a response has too many; `nil` for other faults.
  package var count: Int?
  package var character: TargetCharacter?
  package var limit: MessageLimit?

  package init(line: Int? = nil, character: TargetCharacter? = nil, limit: MessageLimit? = nil) {
    self.line = line
    self.character = character
    self.limit = limit
  }

  package var isEmpty: Bool { line == nil && character == nil && limit == nil }

  /// The fault in words, as in `line 3`.
  package var description: String {
    if let character {
      let form = character.isEscaped ? "escaped as" : "its escape is"
      return "\(character.name) at byte \(character.position) of the target (\(form) \(character.escape))"
    }
    if let limit, let count { return "\(count) fields, and \(limit.key.rawValue) is \(limit.value)" }
    if let limit { return "more than \(limit.value) (\(limit.key.rawValue))" }
    return line.map { "line \($0)" } ?? ""
  }
}

/// A limit of the configuration that a message exceeds.
package struct MessageLimit: Sendable, Equatable {
  package enum Key: String, Sendable {
    case head = "limits.head"
    case fields = "limits.fields"
    case target = "limits.target"
  }

  package let key: Key
  /// The limit in bytes. For the key `fields`, a number of fields.
  package let value: Int

  package init(_ key: Key, _ value: Int) {
    self.key = key
    self.value = value
  }
}

/// A byte that is not allowed in a request-target.
package struct TargetCharacter: Sendable, Equatable {
  package let byte: UInt8
  /// The position of the byte in the request-target as sent, counted from 1.
  package let position: Int
  /// Whether the byte was sent as a percent-escape such as `%00`.
  package let isEscaped: Bool

  package init(_ byte: UInt8, at position: Int, isEscaped: Bool = false) {
    self.byte = byte
    self.position = position
    self.isEscaped = isEscaped
  }

  package var name: StaticString {
    switch byte {
    case 0x00: "NUL"
    case Byte.tab: "tab"
    case Byte.lineFeed: "line feed"
    case Byte.carriageReturn: "carriage return"
    case Byte.space: "space"
    case Byte.quote: "quotation mark"
    case 0x3C: "less-than sign"
    case 0x3E: "greater-than sign"
    case Byte.backslash: "backslash"
    case 0x7F: "DEL"
    case 0..<0x20: "control character"
    default: "character"
    }
  }

  package var escape: String {
    let digits = String(byte, radix: 16, uppercase: true)
    return digits.utf8.count == 1 ? "%0\(digits)" : "%\(digits)"
  }
}
