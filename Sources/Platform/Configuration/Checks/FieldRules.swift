import Primitives

/// The header fields that a configuration may name, and the values that they may have.
enum FieldRules {
  enum Use {
    case credential, set, remove, allow
  }

  /// Returns the name in lowercase, with `-` for all characters except letters and digits.
  static func normalized(_ name: String) -> String {
    // CGI programs cannot distinguish two field names with the same result.
    ASCII.lowercased(String(decoding: name.utf8.map { ASCII.isLetterOrDigit($0) ? $0 : 0x2D }, as: UTF8.self))
  }

  /// Returns the name in lowercase, with `-` for `_` and `.`.
  static func normalizedParameter(_ name: String) -> String {
    // PHP cannot distinguish two parameter names with the same result.
    ASCII.lowercased(String(decoding: name.utf8.map { $0 == 0x5F || $0 == 0x2E ? 0x2D : $0 }, as: UTF8.self))
  }

  /// Returns why a configuration must not name this header field, or `nil` if the field is allowed.
  static func refusal(of name: String) -> String? {
    let name = normalized(name)
    if name.hasPrefix("proxy-") {
      return "is not allowed here: bearerd handles this field itself, because it concerns only one connection"
    }
    switch name {
    case "host": return "is not allowed here: bearerd takes it from server_name or upstream"
    case "content-length", "transfer-encoding", "expect":
      return "is not allowed here: bearerd handles this field itself, because it controls how a message is sent"
    case "connection", "keep-alive", "te", "trailer", "upgrade", "http2-settings", "max-forwards":
      return "is not allowed here: bearerd handles this field itself, because it concerns only one connection"
    case "via": return "is not allowed here: to let bearerd send Via, write via: true in the service"
    default: return nil
    }
  }

  /// Normalized names of header fields whose values are secrets.
  static let credentials: Set<String> = [
    "api-key", "apikey", "authorization", "cookie", "dd-api-key", "job-token", "private-token", "set-cookie",
    "x-access-token",
    "x-amz-security-token", "x-api-key", "x-auth-key", "x-auth-token", "x-github-token", "x-goog-api-key",
    "x-vault-token",
  ]

  static func isParameterName(_ text: String) -> Bool {
    isToken(text) && text.utf8.count <= 256 && !text.contains("*") && !text.contains("&")
  }

  /// Whether the text is a token (RFC 9110 §5.6.2).
  static func isToken(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { ASCII.isLetterOrDigit($0) || "!#$%&'*+-.^_`|~".utf8.contains($0) }
  }
}
