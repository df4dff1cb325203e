internal import Primitives
@_spi(SecretBytes) internal import Secrets
internal import System

/// The body of a token endpoint's response: a JSON object, or a form (WHATWG URL section 5.1).
struct TokenBody {
  /// The body without a byte order mark.
  let bytes: UnsafeRawBufferPointer

  /// Maximum number of fields in a form.
  private static let maxFields = 64

  init(_ body: UnsafeRawBufferPointer) {
    let hasMark = body.starts(with: [0xEF, 0xBB, 0xBF])
    bytes = hasMark ? UnsafeRawBufferPointer(rebasing: body[3...]) : body
  }

  /// Whether the body contains only white space.
  var isEmpty: Bool { firstByte == nil }

  /// Whether the body begins like a JSON object.
  var isObject: Bool { firstByte == UInt8(ascii: "{") }

  private var firstByte: UInt8? { bytes.first { !Self.isSpace($0) } }

  /// Returns the form as a JSON object whose members are strings. `nil` if the body is not a valid form.
  func jsonOfForm(in arena: SecretArena) throws(SystemError) -> Secret? {
    var end = bytes.count
    while end > 0, Self.isSpace(bytes[end - 1]) { end -= 1 }
    let form = bytes[..<end]
    // HTML or plain text is no form.
    guard form.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "<") && $0 != UInt8(ascii: "\"") }) else {
      return nil
    }
    let fields = form.split(separator: UInt8(ascii: "&"), maxSplits: Self.maxFields)
    guard fields.count <= Self.maxFields else { return nil }
    var json = try Secret(capacity: form.count + 256, in: arena)
    try json.append("{")
    for (index, field) in fields.enumerated() {
      guard let nameEnd = field.firstIndex(of: UInt8(ascii: "=")) else { return nil }
      if index > 0 { try json.append(",") }
      guard try append(field[..<nameEnd], to: &json) else { return nil }
      try json.append(":")
      guard try append(field[(nameEnd + 1)...], to: &json) else { return nil }
    }
    try json.append("}")
    return json
  }

  /// Decodes a name or a value, and appends it as a JSON string.
  /// - Returns: `false` if a percent escape is invalid.
  private func append(_ text: Slice<UnsafeRawBufferPointer>, to json: inout Secret) throws(SystemError) -> Bool {
    try json.append("\"")
    var index = text.startIndex
    while index < text.endIndex {
      var byte = text[index]
      index += 1
      if byte == UInt8(ascii: "+") {
        byte = 0x20
      } else if byte == UInt8(ascii: "%") {
        guard text.endIndex - index >= 2, let high = ASCII.hexValue(text[index]),
          let low = ASCII.hexValue(text[index + 1])
        else { return false }
        byte = high << 4 | low
        index += 2
      }
      if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
        try json.append("\\u00")
        try json.append(hexadecimal: byte)
      } else {
        try json.append(byte)
      }
    }
    try json.append("\"")
    return true
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
}
