import Configuration
import Policy
import Settings
import Testing

@Suite struct ReportsReaderTests {
  private func read(_ reports: String, more: String = "") throws -> DaemonSettings {
    try Machine().read("reports: \(reports)\nservices: { s: { upstream: 'https://s.test/' } }\n\(more)").get().0
  }

  @Test func `reports have a URL, authorities, networks, and the pins of their host`() throws {
    let policies = """
      pin_policies:
        r.test: { pins: [sha256/BuP9j9opu2CrWVV95h7bCuzbIxE0vjDnW0Vfjht5L6k=], backup_pin: none, pin_mode: report }
      """
    let settings = try read(
      "{ to: 'https://r.test/pins?a=b', ca_file: ca.pem, allow_addresses: [10.0.0.0/8] }", more: policies)
    let reports = try #require(settings.reports)
    let url = try Endpoint(parsingWithQuery: "https://r.test/pins?a=b")
    #expect(reports.url == url)
    #expect(reports.trust.caFile == "/etc/bearerd/ca.pem")
    let network = try #require(AddressBlock(parsing: "10.0.0.0/8"))
    #expect(reports.allowedAddresses == [network])
    #expect(reports.trust.pinning.pins.count == 1 && reports.trust.pinning.mode == .enforce)
    #expect(settings.tlsServers.contains { $0.name == "reports" && $0.trust == reports.trust })
    let plain = try read("{ to: 'https://r.test/' }")
    #expect(plain.reports?.trust == TrustPolicy())
  }

  @Test(arguments: [
    "{}", "{ ca_file: ca.pem }", "{ to: 'http://r.test/' }", "{ to: 'https://u:pw@r.test/' }",
    "{ to: 'https://u?a:pw@r.test/' }", "{ to: 'https://r.test/#a' }", "{ to: 'https://r.test/?a#b' }",
    "{ to: 'https://r.test/', ca_file: empty.pem }", "{ to: 'https://r.test/', pins: [] }",
  ]) func `a section without a usable URL is an error`(reports: String) {
    #expect(throws: ConfigurationErrors.self) { try read(reports) }
  }
}
