import Gateway
import HTTP1
import Policy
import Testing

/// Clients also follow URLs in other fields than Location, Content-Location, Refresh and Link. No URL may lead to a
/// listener (T32). An upstream's URL that is the whole value becomes a URL of the service.
@Suite struct URLFieldTests {
  private static let references = [
    "Operation-Location", "Azure-AsyncOperation", "OData-EntityId", "OC-JobStatus-Location", "X-Goog-Upload-URL",
    "x-goog-upload-control-url", "X-Storage-Url", "X-CDN-Management-Url", "X-Server-Management-Url", "X-MS-Location",
    "X-Forms_Based_Auth_Required", "X-Forms_Based_Auth_Return_Url", "X-Xet-Cas-Url", "X-Xet-Refresh-Route",
    "X-Terraform-Get", "Application-URL", "X-XRDS-Location", "X-Pingback", "Updates-Via", "Redirect-Ref",
    "Content-Base", "Base", "SourceMap", "X-SourceMap", "HX-Location", "HX-Redirect",
  ]

  private static let texts = [
    "WWW-Authenticate: Bearer realm=\"{}\",service=\"up.test\"", "WWW-Authenticate: Bearer realm={}",
    "www-authenticate: Basic realm=\"x\", Bearer authorization_uri=\"{}\", scope=\"a\"",
    "WWW-Authenticate: Bearer resource_metadata = \"{}\"", "WWW-Authenticate: Cargo login_url='{}'",
    "WWW-Authenticate: Digest realm=\"x\", domain=\"/a {}\"", "Authentication-Info: next=\"{}\"",
    "Optional-WWW-Authenticate: Bearer realm=\"{}\"",
    "Authentication-Control: Basic realm=\"x\", location-when-logout=\"{}\"",
    "Alternates: {\"{}\" 0.9 {type text/html}}", "URI: <https://up.test/>, <{}>", "X-GitHub-SSO: required; url={}",
    "Link-Template: \"{}\"; rel=\"next\"", "Operation-Location: https://up.test/?next={}",
    "Operation-Location: <{}>",
  ]

  /// URLs of a listener at localhost:7070.
  private static let ours = [
    "http://localhost:7070/other/x", "HTTP://LOCALHOST:7070/api/x", "http://127.0.0.1:7070", "http://[::1]:7070/",
    "http://127.1:7070/", "http://2130706433:7070/", "http://0x7f.1:7070/", "http://127.0.0.2:7070/",
    "http://0.0.0.0:7070/", "http://[::ffff:127.0.0.1]:7070/", "http://localhost.:7070?x", "//localhost:7070/x",
    "http://u:p@localhost:7070/", "http://a,b@localhost:7070/", "http://localhost:7070,x@up.test/",
    "http://up.test@localhost:7070#x", "http://other.localhost:7070/", "https://localhost:7070/",
    "ws://localhost:7070/", "wss://localhost:7070/", "custom://localhost:7070/", "http:/\\localhost:7070/",
    "\\\\localhost:7070\\x", "/\\localhost:7070", "http:///localhost:7070/", "http:localhost:7070/",
    "https:/localhost:7070/", "http://localhost:7070:443/", "http://%6cocalhost:7070/", "http://\u{ff4c}ocalhost:7070/",
  ]

  /// URLs of other servers.
  private static let others = [
    "https://auth.example.com/token", "https://up.test/x", "https://up.test/base/../x", "http://localhost:8080/x",
    "http://127.0.0.1/x",
    "https://evil.test:7070/x", "//evil.test:7070/x", "https://localhost:7070@evil.test/", "mailto:localhost:7070",
    "https://evil.test:7070;localhost", "https://evil.test/localhost:7070", "urn:localhost:7070", "x",
    "/base/operations/5", "https://up.test//x//y",
  ]

  private func play(_ line: String, world: Snapshot? = nil) throws -> Conversation {
    exchange(get(), ok("X-Kept: 1", line, status: "401 No", body: "theirs"), try world ?? snapshot(credential: .pass))
  }

  @Test(arguments: references.map { "\($0): {}" } + texts)
  func `T32: a response with a URL of a listener is refused`(line: String) throws {
    for url in Self.ours {
      let played = try play(line.replacing("{}", with: url))
      #expect(status(played.response) == "502" && played.response.contains("redirect-to-self"), "\(line) with \(url)")
      #expect(!played.response.contains("theirs") && !played.response.contains(url), "\(line) with \(url)")
    }
  }

  @Test(arguments: references.map { "\($0): {}" } + texts)
  func `other URLs pass unchanged`(line: String) throws {
    for url in Self.others {
      let line = line.replacing("{}", with: url)
      let response = ok("X-Kept: 1", line, status: "401 No", body: "theirs")
      #expect(try play(line).response == response, "\(line)")
    }
  }

  private static let notRewritten = ["Updates-Via", "HX-Location"]

  @Test(arguments: [
    ("https://up.test/base/ops/7?api-version=1", "http://localhost:7070/api/ops/7?api-version=1"),
    ("HTTPS://UP.test:443/base/#f", "http://localhost:7070/api/#f"),
    ("http://up.test/base/x", "http://localhost:7070/api/x"),
    ("//up.test/base/x", "http://localhost:7070/api/x"), ("http://up.test:8080/x", "https://up.test/x"),
    ("https://up.test/base/a b", "http://localhost:7070/api/a%20b"),
    ("https:\\\\up.test\\base\\x", "http://localhost:7070/api/x"),
  ])
  func `a URL of the upstream becomes a URL of the service`(url: String, expected: String) throws {
    for name in Self.references {
      let played = try play("\(name): \(url)")
      let isRewritten = !Self.notRewritten.contains(name)
      #expect(value(name, played.response) == (isRewritten ? expected : url), "\(name)")
    }
    for line in Self.texts {
      let line = line.replacing("{}", with: "https://up.test/base/x")
      #expect(try play(line).response == ok("X-Kept: 1", line, status: "401 No", body: "theirs"))
    }
  }

  @Test func `a rewritten URL has the host and port that the client used`() throws {
    let response = ok("Operation-Location: https://up.test/base/x")
    let own = try snapshot(at: .host("api.localhost"))
    let named = exchange("GET /x HTTP/1.1\r\nHost: api.localhost:7070\r\n\r\n", response, own)
    #expect(value("Operation-Location", named.response) == "http://api.localhost:7070/x")
    let absolute = exchange(
      "GET http://127.0.0.1:7070/api/x HTTP/1.1\r\nHost: 127.0.0.1:7070\r\n\r\n", response, try snapshot())
    #expect(value("Operation-Location", absolute.response) == "http://127.0.0.1:7070/api/x")
    let nested = try snapshot(more: [try service("in", at: "/api/in/", upstream: "https://in.test/")])
    let inner = exchange(get(), ok("Operation-Location: https://up.test/base/in/x"), nested)
    #expect(value("Operation-Location", inner.response) == "https://up.test/base/in/x", "another service is there")
  }

  @Test(arguments: ["http://l\\ocalhost:7070/", "http:\\/\\/localhost:7070", "ht\\tp://local\\host:\\7070/"])
  func `T32: a listener's URL is found behind the escapes of a quoted string`(url: String) throws {
    #expect(status(try play("WWW-Authenticate: Bearer realm=\"\(url)\"").response) == "502")
  }

  @Test(arguments: [
    "ht\ttp://localhost:7070/", "http://local\thost:7070/", "http:/\t/localhost:7070", "http://localhost:7070\t1",
  ])
  func `T32: a listener's URL is found even if it contains tabs`(url: String) throws {
    #expect(status(try play("Operation-Location: \(url)").response) == "502")
  }

  @Test(arguments: [
    "X-Operation-Location", "Operation-Locations", "Operation_Location", "X-Goog-Upload-Status", "X-Request-Url",
    "Server",
  ])
  func `fields whose URLs clients do not follow are not checked`(name: String) throws {
    let line = "\(name): http://localhost:7070/"
    #expect(try play(line).response == ok("X-Kept: 1", line, status: "401 No", body: "theirs"))
  }

  @Test func `T32: a challenge to bearerd's credential is replaced, whatever URL it contains`() throws {
    let played = try play("WWW-Authenticate: Bearer realm=\"http://localhost:7070/\"", world: snapshot())
    #expect(status(played.response) == "401" && !played.response.contains("7070"))
  }

  @Test func `T32: a listener's URL is removed from interim responses and trailers`() throws {
    let line = "Operation-Location: http://localhost:7070/"
    let interim = exchange(get(), "HTTP/1.1 103 Hi\r\n\(line)\r\n\r\n" + ok(), try snapshot())
    #expect(interim.response == ok())
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-A: 1\r\n\(line)\r\n\r\n"
    let trailers = exchange(get(), chunked, try snapshot())
    #expect(trailers.response.hasSuffix("\r\n0\r\nX-A: 1\r\n\r\n"))
  }

  // MARK: paths

  private func nested() throws -> Snapshot {
    try snapshot(
      credential: .pass,
      more: [
        service("in", at: "/api/in/", upstream: "https://in.test/"),
        service("b", at: "/b/", upstream: "https://b.test/"),
      ])
  }

  @Test(arguments: [
    "/b/x", "/b/", "/%62/x", "/api/../b/x", "../b/x", "y/../../b/x", "/api/in/x", "in/x", "./in/", "\\b\\x",
    "/x/%2e%2e/b/x",
    "/b/x?q#f",
  ])
  func `T32: a response with the path of another service is refused`(path: String) throws {
    let played = try play("Operation-Location: \(path)", world: nested())
    #expect(status(played.response) == "502" && played.response.contains("redirect-to-self"))
  }

  @Test(arguments: [
    "/api/x", "/x", "/", "/base/x", "x", "?b", "#b", "/api/inner", "/bb/x", "/api/x?/b/x", "../x", "..", "b/x",
    "/api//x",
  ])
  func `a path of the same service, or of no service, passes unchanged`(path: String) throws {
    let line = "Operation-Location: \(path)"
    #expect(try play(line, world: nested()).response == ok("X-Kept: 1", line, status: "401 No", body: "theirs"))
  }

  @Test func `a service with its own host name may name every path`() throws {
    let own = try snapshot(at: .host("api.localhost"), more: [service("b", at: "/b/", upstream: "https://b.test/")])
    let line = "Operation-Location: /b/x"
    let played = exchange(
      "GET /x HTTP/1.1\r\nHost: api.localhost:7070\r\n\r\n", ok(line), own)
    #expect(played.response == ok(line))
  }

  // MARK: costs

  @Test func `T60: a URL field with more than 2,048 URLs is removed`() throws {
    func passes(_ count: Int) throws -> Bool {
      let urls = Array(repeating: "//a.test/", count: count).joined(separator: " ")
      let played = try play("Operation-Location: \(urls)")
      #expect(value("X-Kept", played.response) == "1")
      return value("Operation-Location", played.response) == urls
    }
    #expect(try passes(2_048))
    #expect(try !passes(2_049))
  }
}
