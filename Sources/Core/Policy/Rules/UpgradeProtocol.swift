/// A protocol that a connection may switch to (RFC 9110 §7.8).
package struct UpgradeProtocol: Sendable, Equatable {
  /// The name as sent, such as `websocket`, or with a version: `SPDY/3.1`.
  package let text: String

  package static var websocket: UpgradeProtocol { UpgradeProtocol(text: "websocket") }

  /// Throws for invalid names, and for HTTP and TLS, which are never allowed.
  package init(parsing text: String) throws(PolicySyntaxError) {
    // After an upgrade to another HTTP version, no rule would check the requests.
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(ByteClass.isTokenCharacter) }) else {
      throw PolicySyntaxError("\(quoted(text)) is not the name of a protocol: expected one like websocket or SPDY/3.1")
    }
    switch parts[0].lowercased() {
    case "h2c", "h2", "http":
      throw PolicySyntaxError(
        "an upgrade to \(quoted(text)) is not allowed: rules would not apply to the requests that follow")
    case "tls":
      throw PolicySyntaxError("an upgrade to \(quoted(text)) is not allowed: bearerd itself uses TLS to the upstream")
    default: self.text = text
    }
  }

  private init(text: String) { self.text = text }

  package static func == (one: UpgradeProtocol, other: UpgradeProtocol) -> Bool {
    one.isNamed(by: other.text.utf8.span)
  }

  /// Whether an element of an `Upgrade` field names this protocol.
  package func isNamed(by element: Span<UInt8>) -> Bool {
    text.utf8.elementsEqual(element, ignoringCase: true)
  }
}
