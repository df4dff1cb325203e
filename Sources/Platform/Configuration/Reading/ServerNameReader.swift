internal import Policy

/// Reads `server_name`: the name of an upstream that bearerd reaches by another name or address.
struct ServerNameReader: SectionReader {
  let context: ReadingContext

  func name(_ node: YAMLNode) -> HostName? {
    guard let text = text(node, "a host name like api.example.com") else { return nil }
    if let name = try? HostName(parsing: text) { return name }
    switch URLCheck(text) {
    case .userinfo, .query, .fragment:
      // The message does not show the text, which may contain a secret.
      return report.error(
        node.location, "this is not a server name: it has a user name, a query or a fragment",
        help: "write only the name in the server's certificate, like api.example.com")
    case .port, .fine: break
    }
    if text.contains("*") {
      return report.error(
        node.location,
        "the server name \(quoted(text)) has a wildcard: expected the full name of one server",
        help: "write a name like api.example.com. A certificate with a wildcard is valid for this name, too")
    }
    if let host = Self.host(in: text) {
      return report.error(
        node.location, "\(quoted(text)) is not a server name: expected only a host, without scheme, port and path",
        help: "write server_name: \(Self.written(host)). Scheme, port and path belong into upstream")
    }
    return parsed(
      text, at: node.location, help: "write the name in the server's certificate, like api.example.com",
      HostName.init(parsing:))
  }

  /// Returns the host of a URL, perhaps without its scheme. `nil` for other text.
  private static func host(in text: String) -> HostName? {
    let rest = text.firstRange(of: "://").map { text[$0.upperBound...] } ?? text[...]
    return (try? Origin(parsing: "https://\(rest.prefix { $0 != "/" })"))?.host
  }

  /// Returns the host as a YAML value. YAML reads an unquoted bracket as the beginning of a list.
  private static func written(_ host: HostName) -> String {
    let text = host.description
    return text.hasPrefix("[") ? "\"\(text)\"" : text
  }
}
