/// The place of a fault in a message, for the client and the log. It never holds a field value.
package struct MessageFault: Sendable, Equatable, CustomStringConvertible {
  /// The number of the faulty line in its head; the start line is 1. `nil` if the fault is not in one line.
  package var line: Int?
  /// The name of the faulty field of a response, as a range of the bytes that the reader was given; `nil` if it is not known.
  package var name: Range<Int>?
  /// The number of fields of a response that has too many; `nil` for all other faults.
  package var count: Int?
  /// The byte of a request-target that is not allowed there; `nil` for all other faults.
  package var character: TargetCharacter?
  /// The limit that the message exceeds; `nil` for all other faults.
  package var limit: MessageLimit?

  package init(line: Int? = nil, character: TargetCharacter? = nil, limit: MessageLimit? = nil) {
    self.line = line
    self.character = character
    self.limit = limit
  }

  package var isEmpty: Bool { line == nil && character == nil && limit == nil }

  /// The place in words: `line 3`, `backslash at byte 12 of the target (its escape is %5C)`, `more than 128 (limits.fields)`.
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

/// A limit of the configuration, and its value for one message.
package struct MessageLimit: Sendable, Equatable {
  package enum Key: String, Sendable {
    case head = "limits.head"
    case fields = "limits.fields"
    case target = "limits.target"
  }

  /// The configuration key that raises the limit.
  package let key: Key
  /// The limit in bytes, or for `fields` as a count.
  package let value: Int

  package init(_ key: Key, _ value: Int) {
    self.key = key
    self.value = value
  }
}

/// A byte that is not allowed in a request-target.
package struct TargetCharacter: Sendable, Equatable {
  package let byte: UInt8
  /// The position of the byte in the request-target as it was sent; the first byte is 1.
  package let position: Int
  /// `true` if the target contains the percent-escape of the byte, not the byte itself.
  package let isEscaped: Bool

  package init(_ byte: UInt8, at position: Int, isEscaped: Bool = false) {
    self.byte = byte
    self.position = position
    self.isEscaped = isEscaped
  }

  /// The name of the character. It is printable ASCII without quotation marks and backslashes.
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

  /// The percent-escape of the byte, as in `%5C`.
  package var escape: String {
    let digits = String(byte, radix: 16, uppercase: true)
    return digits.utf8.count == 1 ? "%0\(digits)" : "%\(digits)"
  }
}
