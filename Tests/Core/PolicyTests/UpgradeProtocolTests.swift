import Policy
import Testing

@Suite struct UpgradeProtocolTests {
  @Test(arguments: ["websocket", "SPDY/3.1", "tcp", "IRC/6.9", "connect-udp"])
  func `a protocol is a name with an optional version, in any letter case`(text: String) throws {
    let parsed = try UpgradeProtocol(parsing: text)
    #expect(parsed.text == text)
    for other in [text, text.uppercased(), text.lowercased()] { #expect(isNamed(parsed, by: other)) }
    for other in ["", text + "/1", text + " ", String(text.dropLast()), "x" + text.dropFirst()] {
      #expect(!isNamed(parsed, by: other), "\(other)")
    }
  }

  private func isNamed(_ upgrade: UpgradeProtocol, by text: String) -> Bool {
    upgrade.isNamed(by: Array(text.utf8).span)
  }

  @Test(arguments: ["", "/", "web socket", "websocket/", "/13", "a/b/c", "websocket,h2c", "wéb", "\"tcp\""])
  func `malformed protocol names are refused`(text: String) {
    #expect(throws: PolicySyntaxError.self) { _ = try UpgradeProtocol(parsing: text) }
  }

  /// T18: rules could not check the requests that follow.
  @Test(arguments: ["h2c", "H2C", "h2", "HTTP/2.0", "http", "HTTP/1.1", "TLS/1.0", "TLS", "tls/1.3"])
  func `protocols that would bypass the rules are refused`(text: String) {
    #expect(throws: PolicySyntaxError.self) { _ = try UpgradeProtocol(parsing: text) }
  }
}
