package import Primitives

/// Builds one log line in logfmt, and owns the buffer meanwhile.
package struct LogLine: ~Copyable {
  package private(set) var bytes: ByteBuffer

  package init(after bytes: consuming ByteBuffer = ByteBuffer()) { self.bytes = bytes }

  package mutating func raw(_ text: [UInt8]) { bytes.append(text.span) }
  package mutating func raw(_ text: String) { bytes.append(text) }
  package mutating func raw(_ number: UInt64) { bytes.append(decimal: number) }
  package mutating func raw(threeDigits number: UInt64) {
    if number < 100 { bytes.append(UInt8(ascii: "0")) }
    if number < 10 { bytes.append(UInt8(ascii: "0")) }
    bytes.append(decimal: number)
  }

  // Keys that every request logs are stored as bytes, as in ` name=`. Writers of many lines keep the keys, because a
  // lazily initialized global costs a call per access.

  package mutating func field(_ key: Key, _ number: UInt64) {
    bytes.append(key.text.span)
    bytes.append(decimal: number)
  }

  package mutating func field(_ key: Key, _ text: Span<UInt8>) {
    bytes.append(key.text.span)
    value(text)
  }

  package mutating func field(_ name: String, _ number: Int) { field(name, UInt64(max(0, number))) }

  package mutating func field(_ name: String, _ number: UInt64) {
    raw(" \(name)=")
    bytes.append(decimal: number)
  }

  package mutating func field(_ name: String, _ text: String) {
    raw(" \(name)=")
    value(text.utf8.span)
  }

  private mutating func value(_ text: Span<UInt8>) {
    if LogLine.isPlain(text) { bytes.append(text) } else { quoted(text) }
  }

  /// A field name as bytes, as in ` name=`.
  package struct Key {
    fileprivate let text: [UInt8]

    fileprivate init(_ name: String) { text = Array(" \(name)=".utf8) }
  }

  package struct Keys {
    package let uid = Key("uid")
    package let method = Key("method")
    package let path = Key("path")
    package let status = Key("status")
    /// The fields of a request in HTTP/1.1 that was also sent in HTTP/1.1.
    package let http1Versions = Array(" http=1.1 upstream_http=1.1".utf8)
    package let up = Key("up")
    package let down = Key("down")
    package let milliseconds = Key("ms")
    package let generation = Key("generation")

    package init() {}
  }

  package mutating func end() { bytes.append(UInt8(ascii: "\n")) }

  /// Writes text in quotes, and escapes all bytes except printable ASCII to prevent line and terminal injection (T48).
  private mutating func quoted(_ text: Span<UInt8>) {
    bytes.append(UInt8(ascii: "\""))
    for index in 0..<min(text.count, LogLine.maximumValueLength) {
      let byte = text[index]
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"):
        bytes.append(UInt8(ascii: "\\"))
        bytes.append(byte)
      case 0x20...0x7E: bytes.append(byte)
      default:
        bytes.append("\\x")
        if byte < 16 { bytes.append(UInt8(ascii: "0")) }
        bytes.append(hexadecimal: UInt64(byte))
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  /// Maximum number of bytes of a field's value.
  private static let maximumValueLength = 2_048

  private static func isPlain(_ text: Span<UInt8>) -> Bool {
    if text.isEmpty || text.count > maximumValueLength { return false }
    for index in text.indices {
      let byte = text[index]
      if byte <= 0x20 || byte >= 0x7F || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "=")
        || byte == UInt8(ascii: "\\")
      {
        return false
      }
    }
    return true
  }
}
