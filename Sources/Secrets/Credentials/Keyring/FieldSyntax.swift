@_spi(SecretBytes) internal import Secrets
import Primitives
internal import Settings

// The bytes that are allowed in fields, so that no secret can end its line or begin another line (T43). Error messages
// never contain bytes of a secret.

/// The required syntax of a secret, which depends on its position in the request.
enum SecretForm {
  /// A bearer token that the user configured.
  case bearer
  /// A token that a token endpoint granted.
  case token
  case userName, text, fieldValue

  func check(_ bytes: UnsafeRawBufferPointer, name: String) throws(SecretProblem) {
    switch self {
    case .bearer: try checkBearer(bytes, name: name)
    case .token: try checkToken(bytes, name: name)
    case .userName: try checkUserName(bytes, name: name)
    case .text: try checkText(bytes, name: name)
    case .fieldValue: try checkFieldValue(bytes, name: name)
    }
  }
}

/// Checks a bearer token that the user configured (b64token, RFC 6750 section 2.1).
func checkBearer(_ bytes: UnsafeRawBufferPointer, name: String) throws(SecretProblem) {
  try checkWrapping(bytes, name: name)
  if isAssignment(bytes[...]) {
    throw SecretProblem("\(name) looks like NAME=value: write only the value")
  }
  if bytes.first == UInt8(ascii: "{") {
    throw SecretProblem("\(name) begins with a brace, like JSON: write only the token")
  }
  try checkToken(bytes, name: name)
  let padding = bytes.reversed().prefix { $0 == UInt8(ascii: "=") }.count
  guard padding < bytes.count, bytes.dropLast(padding).allSatisfy(isBase64Token) else {
    throw SecretProblem(
      "\(name) has a character that is not allowed in a bearer token (RFC 6750 section 2.1). If your token is right, "
        + "write headers: [{ name: Authorization, prefix: \"Bearer \", value: … }]")
  }
}

/// Rejects quotation marks around a value, and a shell command before it.
func checkWrapping(_ bytes: UnsafeRawBufferPointer, name: String) throws(SecretProblem) {
  if bytes.count > 1, let first = bytes.first, first == bytes.last, "\"'`".utf8.contains(first) {
    throw SecretProblem("\(name) is in quotation marks: remove them")
  }
  for command in ["export ", "set ", "setenv ", "$env:"] where bytes.starts(with: command.utf8) {
    if isAssignment(bytes.dropFirst(command.utf8.count)) {
      throw SecretProblem("\(name) looks like a shell command with NAME=value: write only the value")
    }
  }
}

/// Whether the text looks like `NAME=value`.
private func isAssignment(_ bytes: Slice<UnsafeRawBufferPointer>) -> Bool {
  // Equals signs at the end are padding and do not count.
  let name = bytes.prefix { $0 == UInt8(ascii: "_") || ASCII.isLetterOrDigit($0) }
  guard let first = name.first, !ASCII.isDigit(first) else { return false }
  let rest = bytes[name.endIndex...].drop { $0 == 0x20 }
  guard rest.first == UInt8(ascii: "=") else { return false }
  return rest.contains { $0 != UInt8(ascii: "=") }
}

private func isBase64Token(_ byte: UInt8) -> Bool { ASCII.isLetterOrDigit(byte) || "-._~+/".utf8.contains(byte) }

/// Checks a granted token: visible ASCII without spaces (RFC 6749 appendix A.12).
func checkToken(_ bytes: UnsafeRawBufferPointer, name: String) throws(SecretProblem) {
  // Not limited to b64token, because tokens of real endpoints contain `|` and `:`.
  guard bytes.allSatisfy({ (0x21...0x7E).contains($0) }) else {
    throw SecretProblem(
      "\(name) has a byte that is not allowed in a bearer token: \(kind(of: bytes) { $0 > 0x20 && $0 < 0x7F })")
  }
}

/// Checks a user name, which must not contain a colon (RFC 7617 section 2).
func checkUserName(_ bytes: UnsafeRawBufferPointer, name: String) throws(SecretProblem) {
  try checkText(bytes, name: name)
  guard !bytes.contains(UInt8(ascii: ":")) else {
    throw SecretProblem("\(name) has a colon, which is not allowed in a user name for Basic (RFC 7617)")
  }
}

/// Checks for valid UTF-8 without control characters (RFC 7617 section 2).
func checkText(_ bytes: UnsafeRawBufferPointer, name: String) throws(SecretProblem) {
  guard bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
    throw SecretProblem("\(name) has a control character, perhaps a second line")
  }
  guard isUTF8(bytes) else { throw SecretProblem("\(name) is not UTF-8") }
}

/// Checks a field value: visible ASCII, inner spaces and tabs (RFC 9110 section 5.5).
func checkFieldValue(_ bytes: UnsafeRawBufferPointer, name: String) throws(SecretProblem) {
  func isAllowed(_ byte: UInt8) -> Bool { (0x20...0x7E).contains(byte) || byte == 0x09 }
  guard bytes.allSatisfy(isAllowed) else {
    throw SecretProblem("\(name) has a byte that is not allowed in a header field: \(kind(of: bytes, isAllowed))")
  }
  guard let first = bytes.first, let last = bytes.last else { throw SecretProblem("\(name) is empty") }
  guard first > 0x20, last > 0x20 else { throw SecretProblem("\(name) begins or ends with a space or tab") }
}

func checkPrefix(_ template: HeaderTemplate) throws(SecretProblem) {
  let isAllowed = template.prefix.utf8.allSatisfy { (0x20...0x7E).contains($0) || $0 == 0x09 }
  guard isAllowed, template.prefix.utf8.first.map({ $0 > 0x20 }) ?? true else {
    throw SecretProblem("the prefix of \(template.name) has bytes that are not allowed in a header field")
  }
}

/// Checks a field name: a token (RFC 9110 section 5.6.2) that does not affect framing or routing.
func checkFieldName(_ name: String) throws(SecretProblem) {
  let isToken = name.utf8.allSatisfy { ASCII.isLetterOrDigit($0) || "!#$%&'*+-.^_`|~".utf8.contains($0) }
  guard isToken, !name.isEmpty else {
    let shown = name.utf8.filter { (0x20...0x7E).contains($0) }
    throw SecretProblem("\"\(String(decoding: shown, as: UTF8.self))\" is not a valid name of a header field")
  }
  let reserved = [
    "host", "connection", "content-length", "transfer-encoding", "te", "trailer", "upgrade", "keep-alive",
  ]
  guard !reserved.contains(name.lowercased()) else { throw SecretProblem("\(name) is not a field for credentials") }
}

private func kind(of bytes: UnsafeRawBufferPointer, _ isAllowed: (UInt8) -> Bool) -> String {
  switch bytes.first(where: { !isAllowed($0) }) {
  case 0x0A, 0x0D: "a line break"
  case 0x20, 0x09: "a space or tab"
  case .some(0x80...): "not ASCII"
  default: "a control character"
  }
}
