@_spi(SecretBytes) internal import Secrets
import Primitives
internal import Settings
internal import System

/// Writes parameters as a form (RFC 6749 appendix B), as the query of a URL, or as one JSON object.
struct ParameterWriter: ~Copyable {
  private let encoding: LoginForm.Encoding
  private var text: Secret
  /// The name of a parameter whose value JSON cannot contain; `nil` if there is none.
  private var invalidName: String?

  init(_ encoding: LoginForm.Encoding, in arena: SecretArena) throws(SystemError) {
    self.encoding = encoding
    text = try Secret(capacity: 1024, in: arena)
  }

  mutating func add(_ name: String, _ value: String) throws(SystemError) {
    try value.utf8.span.withUnsafeBytes { (bytes) throws(SystemError) in try add(name, bytes) }
  }

  mutating func add(_ name: String, _ value: borrowing Secret) throws(SystemError) {
    try value.withBytes { (bytes) throws(SystemError) in try add(name, bytes) }
  }

  mutating func add(_ name: String, _ value: UnsafeRawBufferPointer) throws(SystemError) {
    try begin(name)
    switch encoding {
    case .form: try text.appendForm(value)
    case .json:
      if !isUTF8(value) { invalidName = name }
      try text.appendJSON(value)
    }
  }

  /// Adds each value under the same name. In JSON, several values are one array.
  mutating func add(_ name: String, each values: [String]) throws(SystemError) {
    guard encoding == .json, values.count > 1 else {
      for value in values { try add(name, value) }
      return
    }
    try begin(name)
    for (index, value) in values.enumerated() {
      try text.append(index == 0 ? "[" : ",")
      try text.appendJSON(value)
    }
    try text.append("]")
  }

  private mutating func begin(_ name: String) throws(SystemError) {
    switch encoding {
    case .form:
      if text.count > 0 { try text.append("&") }
      try text.appendForm(name)
      try text.append("=")
    case .json:
      try text.append(text.count == 0 ? "{" : ",")
      try text.appendJSON(name)
      try text.append(":")
    }
  }

  /// Throws if JSON cannot contain one of the values.
  func check(for source: TokenSource) throws(SecretProblem) {
    guard let invalidName else { return }
    throw SecretProblem(
      "\(invalidName) of \(source.credential) is not UTF-8, which JSON requires: send a form instead of JSON")
  }

  /// Returns what was written. Call `check` first if the encoding can be JSON.
  consuming func finish() throws(SystemError) -> Secret {
    let isJSON = encoding == .json
    var text = text
    if isJSON { try text.append(text.count == 0 ? "{}" : "}") }
    return text
  }
}

extension Secret {
  /// Appends a form-encoded value (WHATWG URL section 5.2).
  /// - Parameter space: What a space becomes. Every form decoder reads `%20` as a space. Servers that only percent-decode
  ///   do not read `+` as a space.
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

extension Secret {
  /// Appends a quoted JSON string (RFC 8259 section 7).
  mutating func appendJSON(_ bytes: UnsafeRawBufferPointer) throws(SystemError) {
    try append(UInt8(ascii: "\""))
    for byte in bytes {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"):
        try append(UInt8(ascii: "\\"))
        try append(byte)
      case 0..<0x20:
        try append("\\u00")
        try append(hexadecimal: byte)
      default: try append(byte)
      }
    }
    try append(UInt8(ascii: "\""))
  }

  mutating func appendJSON(_ text: String) throws(SystemError) {
    try text.utf8.span.withUnsafeBytes { (bytes) throws(SystemError) in try appendJSON(bytes) }
  }
}
