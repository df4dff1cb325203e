import Policy
import Testing

@Suite struct UpgradeProtocolTests {
  @Test(arguments: ["websocket", "SPDY/3.1", "tcp", "IRC/6.9", "connect-udp"])
  func aProtocolIsANameAndPerhapsAVersion(text: String) throws {
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
  func whatIsNoneIsRefused(text: String) {
    #expect(throws: OriginError.self) { _ = try UpgradeProtocol(parsing: text) }
  }

  /// T18: rules would not see what follows.
  @Test(arguments: ["h2c", "H2C", "h2", "HTTP/2.0", "http", "HTTP/1.1", "TLS/1.0", "TLS", "tls/1.3"])
  func whatLeadsPastTheRulesIsRefused(text: String) {
    #expect(throws: OriginError.self) { _ = try UpgradeProtocol(parsing: text) }
  }
}
