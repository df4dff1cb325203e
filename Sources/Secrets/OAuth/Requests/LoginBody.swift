@_spi(SecretBytes) internal import Secrets
internal import Settings
internal import System

/// The body of a POST to a login URL, always in locked memory.
struct LoginBody {
  let form: LoginForm
  let source: TokenSource
  let secrets: TokenSecrets
  let arena: SecretArena

  func render() throws(SecretProblem) -> Secret {
    do {
      switch form.encoding {
      case .form:
        var writer = try FormWriter(in: arena)
        for index in form.fields.indices {
          let name = form.fields[index].name
          try withValue(index) { (bytes) throws(SystemError) in try writer.add(name, bytes) }
        }
        return writer.finish()
      case .json:
        var text = try Secret(capacity: 1024, in: arena)
        for index in form.fields.indices {
          try text.append(index == 0 ? "{" : ",")
          try text.appendJSON(form.fields[index].name)
          try text.append(":")
          let isText = try withValue(index) { (bytes) throws(SystemError) -> Bool in
            guard isUTF8(bytes) else { return false }
            try text.appendJSON(bytes)
            return true
          }
          guard isText else {
            throw SecretProblem(
              "\(form.fields[index].name) of \(source.credential) is not UTF-8, which JSON requires: use form instead of json"
            )
          }
        }
        try text.append("}")
        return text
      }
    } catch {
      throw .noMemory(unless: error)
    }
  }

  private func withValue<Result>(
    _ index: Int, _ body: (UnsafeRawBufferPointer) throws(SystemError) -> Result
  ) throws -> Result {
    switch form.fields[index].value {
    case .plain(let text):
      return try text.utf8.span.withUnsafeBytes { (bytes) throws(SystemError) in try body(bytes) }
    case .secret:
      let result = try secrets.withBytes(of: .field(index)) { (bytes) throws(SystemError) in try body(bytes) }
      guard let result else { throw SecretProblem.missing(.field(index), of: source) }
      return result
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
