internal import Policy
import Primitives

/// The header fields that a configuration may name, and what it may write there.
enum FieldRules {
  enum Use {
    case credential, set, remove, allow
  }

  /// A field's name as servers behind CGI see it: without case, and with `-` for whatever is neither a letter nor a digit.
  static func normalised(_ name: String) -> String {
    ASCII.lowercased(String(decoding: name.utf8.map { ASCII.isLetterOrDigit($0) ? $0 : 0x2D }, as: UTF8.self))
  }

  /// A parameter's name as servers may see it: without case, and with `-` for `_` and `.`, which PHP takes for each other.
  /// Other punctuation stays: `$filter` is not `_filter`.
  static func normalisedParameter(_ name: String) -> String {
    ASCII.lowercased(String(decoding: name.utf8.map { $0 == 0x5F || $0 == 0x2E ? 0x2D : $0 }, as: UTF8.self))
  }

  /// nil: this field may be named.
  static func refusal(of name: String) -> String? {
    let name = normalised(name)
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

  /// Fields whose values are secrets: they are never written into this file.
  static let credentials: Set<String> = [
    "api-key", "apikey", "authorization", "cookie", "dd-api-key", "job-token", "private-token", "set-cookie",
    "x-access-token",
    "x-amz-security-token", "x-api-key", "x-auth-key", "x-auth-token", "x-github-token", "x-goog-api-key",
    "x-vault-token",
  ]

  /// A name in a query, without escapes. `*` would look as if it stood for others.
  static func isParameterName(_ text: String) -> Bool {
    isToken(text) && text.utf8.count <= 256 && !text.contains("*") && !text.contains("&")
  }

  /// RFC 9110 §5.6.2.
  static func isToken(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { ASCII.isLetterOrDigit($0) || "!#$%&'*+-.^_`|~".utf8.contains($0) }
  }
}

extension SettingsReader {
  func fieldName(_ node: YAMLNode, for use: FieldRules.Use) -> String? {
    guard let name = text(node, "the name of a header field") else { return nil }
    return checkFieldName(name, at: node.place, for: use) ? name : nil
  }

  func checkFieldName(_ name: String, at place: TextLocation, for use: FieldRules.Use) -> Bool {
    guard FieldRules.isToken(name), name.utf8.count <= 256 else {
      // Not repeated: `Authorization:s3cret` without a blank is a name, to YAML.
      report.error(
        place, "this is not the name of a header field", help: name.contains(":") ? "add a space after the colon" : nil)
      return false
    }
    if let reason = FieldRules.refusal(of: name) {
      report.error(place, "\"\(name)\" \(reason)")
      return false
    }
    switch use {
    case .set where FieldRules.credentials.contains(FieldRules.normalised(name)):
      report.error(
        place, "\"\(name)\" carries a secret, and secrets are not allowed in this file",
        help: "make it a credential: headers: [{ name: \(name), value: { file: NAME } }]")
      return false
    case .remove where name.contains("*"), .allow where name.contains("*"):
      report.error(place, "wildcards are not allowed in names of header fields", help: "list each name")
      return false
    case .credential, .set, .remove, .allow: return true
    }
  }

  /// RFC 9110 §5.5 without obsolete text. What came is not repeated: it may be a secret in the wrong place.
  func fieldValue(_ node: YAMLNode, _ wanted: String, mayEndBlank: Bool = false) -> String? {
    guard let text = scalar(node, wanted) else { return nil }
    guard text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }), text.utf8.count <= 8192 else {
      report.error(
        node.place,
        "the value is too long, or has a character that is not allowed: expected at most 8192 characters of printable ASCII"
      )
      return nil
    }
    guard text.utf8.first != 0x20, text.utf8.last != 0x20 || mayEndBlank else {
      report.error(node.place, "the value begins or ends with a space, which a header field does not allow")
      return nil
    }
    return text
  }
}
