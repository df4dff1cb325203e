import Policy
import TestSupport
import Testing

@Suite struct OriginTests {
  /// A host and its canonical form. `nil` if the host is refused (T11).
  static let hosts: [(String, String?)] = [
    ("api.example.com", "api.example.com"), ("API.Example.COM", "api.example.com"),
    ("api.example.com.", "api.example.com"),
    ("localhost", "localhost"), ("xn--bcher-kva.example", "xn--bcher-kva.example"), ("a-b.c--d.e", "a-b.c--d.e"),
    ("1a.example", "1a.example"),
    ("127.0.0.1", "127.0.0.1"), ("[::1]", "[::1]"), ("[2001:DB8:0::1]", "[2001:db8::1]"),
    ("[::ffff:127.0.0.1]", "127.0.0.1"), ("0xg.example", "0xg.example"),
    ("1.2.3.example", "1.2.3.example"), ("a", "a"), ("", nil), (".", nil), ("..", nil), ("api..example.com", nil),
    (".example.com", nil),
    ("api.example.com..", nil), ("api.example.com:443", nil), ("api%2eexample.com", nil),
    ("api.example.com%2F@evil", nil),
    ("api.example.com\\@evil", nil), ("user@api.example.com", nil), ("api.example.com/x", nil),
    ("api.example.com#", nil), ("api.example.com?", nil),
    ("api。example.com", nil), ("bücher.example", nil), ("ＡＰＩ.example.com", nil), ("*.example.com", nil), ("*", nil),
    ("api example.com", nil), ("api.example.com\n", nil),
    ("api_x.example.com", "api_x.example.com"), ("_dmarc.Example", "_dmarc.example"), ("my_host", "my_host"),
    ("-a.example", nil), ("a-.example", nil), ("::1", nil), ("[::1", nil), ("::1]", nil),
    ("[127.0.0.1]", nil), ("[fe80::1%eth0]", nil),
    ("[]", nil), ("[::1]x", nil), ("[v1.x]", nil), ("0x7f.1", nil), ("127.1", nil), ("2130706433", nil),
    ("0x7f000001", nil), ("0177.0.0.1", nil), ("127.0.0.1.", nil),
    ("127.0.0.256", nil), ("1.2.3.4.5", nil), ("a.0x", nil), ("a.0X1F", nil), ("a.1", nil), ("999", nil),
    (String(repeating: "a", count: 64), nil),
    (String(repeating: "a.", count: 127) + "aa", nil),
    (String(repeating: "a", count: 63), String(repeating: "a", count: 63)), ("\u{212a}.example", nil),
    ("api.example.com\0", nil),
  ]

  @Test func `T11: the table of host spellings has at least 40 rows`() {
    #expect(Self.hosts.count >= 40)
  }

  @Test(arguments: hosts)
  func `T11: a host has one canonical name, or is refused`(_ text: String, _ canonical: String?) throws {
    guard let canonical else {
      #expect(throws: PolicySyntaxError.self) { try HostName(parsing: text) }
      // a port and a path are errors only in a host
      if !text.hasSuffix(":443"), text != "api.example.com/x" {
        #expect(throws: PolicySyntaxError.self) { try Origin(parsing: "https://\(text)") }
      }
      return
    }
    let host = try HostName(parsing: text)
    #expect(host.description == canonical)
    #expect(try HostName(parsing: canonical) == host)
    #expect(try Origin(parsing: "https://\(text)").host == host)
    #expect(try Origin(parsing: "https://\(text):8443") == Origin(scheme: .https, host: host, port: 8443))
  }

  @Test func `T11: parsing a canonical host again does not change the host`() throws {
    let pieces = [
      "api", "example", "com", "localhost", "xn--", "127", "0", "1", "0x7f", "256", "::", "[", "]", ".", "..", "-", "_",
      "@", "%2e", "\u{3002}", "A", "COM", ":", "443", "/", "\\", "#", " ", "ü",
    ]
    var generator = SeededGenerator(state: 11)
    var read = 0
    for _ in 0..<20_000 {
      let text = (0..<Int.random(in: 1..<6, using: &generator)).map { _ in
        pieces.randomElement(using: &generator) ?? ""
      }.joined()
      guard let host = try? HostName(parsing: text) else { continue }
      read += 1
      let again = try HostName(parsing: host.description)
      #expect(again == host && again.description == host.description, "\(text)")
      // Only letter case and one trailing dot may change. Addresses have only one spelling.
      if case .name(let name) = host {
        let bare = text.lowercased()
        #expect(name == bare || name + "." == bare, "\(text)")
      }
    }
    #expect(read > 1000)
  }

  @Test func `localhost names and loopback addresses count as local`() throws {
    let rows = [
      ("localhost", true), ("LOCALHOST.", true), ("a.localhost", true), ("127.0.0.2", true), ("[::1]", true),
      ("[::ffff:127.0.0.1]", true),
      ("localhost.example", false), ("notlocalhost", false), ("10.0.0.1", false), ("example.com", false),
    ]
    for (text, isLocal) in rows { #expect(try HostName(parsing: text).isLocal == isLocal, "\(text)") }
  }

  /// An origin, its canonical form, and its Host field. `nil` if the origin is refused.
  static let origins: [(String, String?, String)] = [
    ("https://api.example.com", "https://api.example.com", "api.example.com"),
    ("HTTPS://API.EXAMPLE.COM.:443/", "https://api.example.com", "api.example.com"),
    ("https://api.example.com:8443", "https://api.example.com:8443", "api.example.com:8443"),
    ("http://localhost", "http://localhost", "localhost"),
    ("http://localhost:443", "http://localhost:443", "localhost:443"), ("https://[::1]", "https://[::1]", "[::1]"),
    ("https://[::1]:80", "https://[::1]:80", "[::1]:80"),
    ("https://127.0.0.1:65535", "https://127.0.0.1:65535", "127.0.0.1:65535"), ("https://api.example.com/v1", nil, ""),
    ("https://api.example.com//", nil, ""),
    ("https://api.example.com?x", nil, ""), ("https://api.example.com/?", nil, ""),
    ("https://api.example.com#x", nil, ""), ("https://user:pw@api.example.com", nil, ""),
    ("https://us/er:pass@host.example", nil, ""), ("https://@api.example.com", nil, ""),
    ("https://api.example.com:", nil, ""), ("https://api.example.com:0", nil, ""),
    ("https://api.example.com:65536", nil, ""), ("https://api.example.com:0443", nil, ""),
    ("https://api.example.com:+443", nil, ""), ("https://api.example.com:44 3", nil, ""),
    ("https://api.example.com:443:443", nil, ""), ("https://:443", nil, ""), ("https://", nil, ""),
    ("https:///", nil, ""), ("https:/api.example.com", nil, ""), ("api.example.com", nil, ""),
    ("//api.example.com", nil, ""), ("ftp://api.example.com", nil, ""), ("wss://api.example.com", nil, ""),
    ("", nil, ""), (" https://api.example.com", nil, ""),
    ("https://api.example.com ", nil, ""), ("https://*.example.com", nil, ""), ("https://api.example.com*", nil, ""),
    ("https://api.example.com\\evil", nil, ""),
    ("https://2001:db8::1", nil, ""), ("https://[::1]443", nil, ""), ("https://[::1]:x", nil, ""),
    ("https\u{0}://a", nil, ""), ("https://api.example.com:４４３", nil, ""),
  ]

  @Test(arguments: origins) func `origins are parsed into canonical form, and malformed origins are refused`(
    _ text: String, _ canonical: String?, _ authority: String
  ) throws {
    guard let canonical else {
      #expect(throws: PolicySyntaxError.self) { try Origin(parsing: text) }
      return
    }
    let origin = try Origin(parsing: text)
    #expect(origin.description == canonical)
    #expect(origin.authority == authority)
    #expect(try Origin(parsing: canonical) == origin)
  }

  @Test func `origins with another scheme, host or port are different`() throws {
    let one = try Origin(parsing: "https://u.test")
    for other in [
      "http://u.test", "https://u.test:8443", "https://www.u.test", "https://u.test.evil.test", "http://u.test:443",
    ] {
      #expect(try Origin(parsing: other) != one)
      #expect(
        Grant(name: "g", origins: [one], callers: nil, fieldNames: []).allows(try Origin(parsing: other)) == false)
    }
    #expect(
      Grant(name: "g", origins: [one], callers: nil, fieldNames: []).allows(try Origin(parsing: "https://U.TEST.:443/"))
    )
  }

  static let upstreams: [(String, String?)] = [
    ("https://api.example.com", "/"), ("https://api.example.com/", "/"), ("https://api.example.com/v1", "/v1/"),
    ("https://api.example.com/v1/", "/v1/"),
    ("https://api.example.com/%76%31/a%2fb", "/v1/a%2Fb/"), ("https://api.example.com/a;b", "/a;b/"),
    ("https://api.example.com/a:b@c", "/a:b@c/"),
    ("https://api.example.com/v1?a=b", nil), ("https://api.example.com/v1#x", nil),
    ("https://api.example.com/../x", nil), ("https://api.example.com/x/.", nil),
    ("https://api.example.com/%2e%2e/x", nil), ("https://api.example.com/..%2fx", nil),
    ("https://api.example.com//x", nil), ("https://api.example.com/x//", nil),
    ("https://api.example.com/%", nil), ("https://api.example.com/%00", nil), ("https://api.example.com/é", nil),
    ("https://api.example.com/a b", nil), ("https://api.example.com/a|b", nil),
    ("https://u@api.example.com/", nil), ("api.example.com/v1", nil),
  ]

  @Test(arguments: upstreams) func `upstream URLs are parsed, and malformed URLs are refused`(
    _ text: String, _ base: String?
  ) throws {
    guard let base else {
      #expect(throws: PolicySyntaxError.self) { try Upstream(parsing: text) }
      return
    }
    #expect(PolicyTests.text(try Upstream(parsing: text).basePath) == base)
  }

  @Test func `error messages name the value and what was expected`() {
    func message(_ parse: () throws -> Void) -> String {
      do {
        try parse()
        return ""
      } catch {
        return (error as? PolicySyntaxError)?.message ?? ""
      }
    }
    let rows: [(message: String, parts: [String])] = [
      (message { _ = try HostName(parsing: "a@b") }, ["\"a@b\""]),
      (message { _ = try HostName(parsing: "bücher.example") }, ["\"bücher.example\"", "xn--"]),
      (message { _ = try Origin(parsing: "https://2001:db8::1") }, ["\"2001:db8::1\"", "[2001:db8::1]"]),
      (message { _ = try HostName(parsing: "127.1") }, ["\"127.1\""]),
      (message { _ = try Origin(parsing: "https://a:99999") }, ["\"99999\"", "\"https://a:99999\"", "65535"]),
      (message { _ = try Origin(parsing: "https://a.b/v1") }, ["\"https://a.b/v1\"", " https://a.b"]),
    ]
    for (message, parts) in rows {
      for part in parts { #expect(message.contains(part), "\(message)") }
    }
  }

  @Test func `error messages never repeat the user name or password of a URL`() {
    for text in ["https://user:hunter2@a.b/", "https://hunter2@a.b", "https://a:hunter2@[::1]:1/x"] {
      #expect { try Upstream(parsing: text) } throws: { !"\($0)".contains("hunter2") }
    }
  }
}
