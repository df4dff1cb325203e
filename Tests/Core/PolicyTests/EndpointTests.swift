import Policy
import Testing

@Suite struct EndpointTests {
  @Test func `a URL may have a query`() throws {
    let url = try Endpoint(parsingWithQuery: "https://reports.test:8443/pins?team=a/b&x=%20")
    #expect(url.origin.description == "https://reports.test:8443")
    #expect(url.target == Array("/pins?team=a/b&x=%20".utf8))
    #expect(try Endpoint(parsingWithQuery: "https://reports.test").target == Array("/".utf8))
    #expect(try Endpoint(parsingWithQuery: "https://reports.test?a").target == Array("/?a".utf8))
  }

  @Test(arguments: [
    "http://reports.test/", "https://user:pw@reports.test/", "https://reports.test/#a", "https://reports.test/?a#b",
    "https://reports.test/?a b", "https://reports.test/?a\r\nHost:%20x", "https://reports.test/../a", "reports.test",
    "", "https:///?a",
  ]) func `another URL is refused`(text: String) {
    #expect(throws: PolicySyntaxError.self) { try Endpoint(parsingWithQuery: text) }
  }
}
