internal import Policy
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
    case "host": return "is not allowed here: bearerd takes it from the upstream's URL"
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

extension SettingsReader {
  func fieldName(_ node: YAMLNode, for use: FieldRules.Use) -> String? {
    guard let name = text(node, "the name of a header field") else { return nil }
    return checkFieldName(name, at: node.location, for: use) ? name : nil
  }

  func checkFieldName(_ name: String, at location: TextLocation, for use: FieldRules.Use) -> Bool {
    guard FieldRules.isToken(name), name.utf8.count <= 256 else {
      // The message omits the name, because YAML reads `Authorization:s3cret` without a space as one name.
      report.error(
        location, "this is not the name of a header field",
        help: name.contains(":") ? "add a space after the colon" : nil)
      return false
    }
    if let reason = FieldRules.refusal(of: name) {
      report.error(location, "\"\(name)\" \(reason)")
      return false
    }
    switch use {
    case .set where FieldRules.credentials.contains(FieldRules.normalized(name)):
      report.error(
        location, "\"\(name)\" carries a secret, and secrets are not allowed in this file",
        help: "make it a credential: headers: [{ name: \(name), value: { file: NAME } }]")
      return false
    case .remove where name.contains("*"), .allow where name.contains("*"):
      report.error(location, "wildcards are not allowed in names of header fields", help: "list each name")
      return false
    case .credential, .set, .remove, .allow: return true
    }
  }

  /// Reads a header field's value in printable ASCII (RFC 9110 §5.5).
  /// - Parameter mayEndBlank: `true` to allow a space at the end, for a prefix of a secret such as `Bot `.
  func fieldValue(_ node: YAMLNode, _ wanted: String, mayEndBlank: Bool = false) -> String? {
    guard let text = scalar(node, wanted) else { return nil }
    guard text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }), text.utf8.count <= 8192 else {
      report.error(
        node.location,
        "the value is too long, or has a character that is not allowed: expected at most 8192 characters of printable ASCII"
      )
      return nil
    }
    guard text.utf8.first != 0x20, text.utf8.last != 0x20 || mayEndBlank else {
      report.error(node.location, "the value begins or ends with a space, which a header field does not allow")
      return nil
    }
    return text
  }
}
