/// Reads the names and values of header fields, and the names of query parameters.
struct HeaderFieldReader: SectionReader {
  let context: ReadingContext

  func name(_ node: YAMLNode, for use: FieldRules.Use) -> String? {
    guard let name = text(node, "the name of a header field") else { return nil }
    return check(name, at: node.location, for: use) ? name : nil
  }

  func check(_ name: String, at location: TextLocation, for use: FieldRules.Use) -> Bool {
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
  func value(_ node: YAMLNode, _ wanted: String, mayEndBlank: Bool = false) -> String? {
    guard let text = scalar(node, wanted) else { return nil }
    guard text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }), text.utf8.count <= 8192 else {
      return report.error(
        node.location,
        "the value is too long, or has a character that is not allowed: expected at most 8192 characters of printable ASCII"
      )
    }
    guard text.utf8.first != 0x20, text.utf8.last != 0x20 || mayEndBlank else {
      return report.error(node.location, "the value begins or ends with a space, which a header field does not allow")
    }
    return text
  }

  func parameterName(_ node: YAMLNode, help: String) -> String? {
    guard let name = text(node, "the name of a parameter") else { return nil }
    if FieldRules.isParameterName(name) { return name }
    // The message omits the text, which may have a secret after `=`.
    return report.error(node.location, "this is not the name of a parameter", help: help)
  }
}
