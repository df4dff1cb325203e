import Policy
import Testing

@Suite struct ServerNameTests {
  private func upstream(_ url: String, named name: String) throws -> Upstream {
    var upstream = try Upstream(parsing: url)
    upstream.setServerName(try HostName(parsing: name))
    return upstream
  }

  @Test func `a server name replaces the host in the upstream's origin, and keeps its port`() throws {
    for (url, host) in [
      ("https://10.0.0.5:8443/v1/", "10.0.0.5"), ("https://lb.example.com:8443/v1/", "lb.example.com"),
    ] {
      let upstream = try upstream(url, named: "API.example.com.")
      #expect(upstream.origin == (try Origin(parsing: "https://api.example.com:8443")))
      #expect(upstream.origin.authority == "api.example.com:8443")
      #expect(upstream.hostToDial.description == host)
      #expect(upstream.basePath == Array("/v1/".utf8))
    }
    let address = try upstream("https://localhost/", named: "10.0.0.5")
    #expect(address.origin.description == "https://10.0.0.5" && address.hostToDial == .name("localhost"))
  }

  @Test func `a server name that is the host in the URL changes nothing`() throws {
    #expect(
      try upstream("https://api.example.com/", named: "api.example.com")
        == Upstream(parsing: "https://api.example.com/"))
  }

  @Test func `upstreams with the same name and different hosts are different`() throws {
    let one = try upstream("https://10.0.0.5/", named: "api.example.com")
    #expect(one != (try upstream("https://10.0.0.6/", named: "api.example.com")))
    #expect(one != (try Upstream(parsing: "https://api.example.com/")))
  }

  @Test func `the last of two server names counts, and the host to connect to stays`() throws {
    var upstream = try upstream("https://10.0.0.5/", named: "api.example.com")
    upstream.setServerName(.name("other.example.com"))
    #expect(upstream == (try self.upstream("https://10.0.0.5/", named: "other.example.com")))
  }

  @Test(arguments: [
    ("https://api.example.com:8443", true), ("https://10.0.0.5:8443", true), ("https://api.example.com", false),
    ("https://10.0.0.5", false), ("http://10.0.0.5:8443", false), ("https://10.0.0.6:8443", false),
  ])
  func `the origins of the server name and of the host in the URL refer to the upstream`(
    origin: String, isReached: Bool
  ) throws {
    let upstream = try upstream("https://10.0.0.5:8443/", named: "api.example.com")
    #expect(upstream.isReached(by: try Origin(parsing: origin)) == isReached)
  }
}
