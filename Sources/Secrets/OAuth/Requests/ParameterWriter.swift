@_spi(SecretBytes) internal import Secrets
import Primitives
internal import System

/// Writes `application/x-www-form-urlencoded` (RFC 6749 appendix B), byte by byte.
struct FormWriter: ~Copyable {
  private(set) var text: Secret

  init(in arena: SecretArena) throws(SystemError) {
    text = try Secret(capacity: 1024, in: arena)
  }

  mutating func add(_ name: String, _ value: String) throws(SystemError) {
    try begin(name)
    try text.appendForm(value)
  }

  mutating func add(_ name: String, _ value: UnsafeRawBufferPointer) throws(SystemError) {
    try begin(name)
    try text.appendForm(value)
  }

  mutating func add(_ name: String, _ value: borrowing Secret) throws(SystemError) {
    try begin(name)
    try value.withBytes { (bytes) throws(SystemError) in try text.appendForm(bytes) }
  }

  private mutating func begin(_ name: String) throws(SystemError) {
    if text.count > 0 { try text.append(UInt8(ascii: "&")) }
    try text.appendForm(name)
    try text.append(UInt8(ascii: "="))
  }

  consuming func finish() -> Secret { text }
}

extension Secret {
  /// Appends a form-encoded value (WHATWG URL section 5.2).
  /// - Parameter space: what a space becomes. Every decoder of forms reads `%20` like `+`, and a server that only
  ///   percent-decodes reads nothing but `%20`.
  mutating func appendForm(_ bytes: UnsafeRawBufferPointer, space: String = "+") throws(SystemError) {
    for byte in bytes { try appendForm(byte, space) }
  }

  mutating func appendForm(_ value: String, space: String = "+") throws(SystemError) {
    for byte in value.utf8 { try appendForm(byte, space) }
  }

  private mutating func appendForm(_ byte: UInt8, _ space: String) throws(SystemError) {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "*"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
      try append(byte)
    case UInt8(ascii: " "): try append(space)
    default:
      try append(UInt8(ascii: "%"))
      try append(ASCII.uppercaseHexDigit(byte >> 4))
      try append(ASCII.uppercaseHexDigit(byte))
    }
  }
}
