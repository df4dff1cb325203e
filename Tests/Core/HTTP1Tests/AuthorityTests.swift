import HTTP1
import Testing

/// The syntax of authorities (T10, T11). `AdmissionTests` checks which names are allowed.
@Suite struct AuthorityTests {
  static let good = [
    "localhost", "localhost:7070", "LOCALHOST:7070", "127.0.0.1:7070", "[::1]", "[::1]:7070", "[fe80::1:2]",
    "[::ffff:127.0.0.1]:1", "[0000:0000:0000:0000:0000:ffff:255.255.255.255]:65535", "github.localhost:7070",
    "API.example.com.", "a_b.example.com", "xn--bcher-kva.example", "0x7f.1", "a:1", "a:65535", "a:00080", "-",
    String(repeating: "a", count: 254),
  ]

  static let bad = [
    "", ":", ":80", "a:", "a:b", "a:0", "a:65536", "a:123456", "a:-1", "a:8 0", "a:80:80", "a:80/", "a b", "a,b",
    "a;b", "u@a", "u:p@a", "@a", "a@", "a/", "a/b", "/a", "a#b", "a?b", "a\\b", "a\\@evil.test", "a%2eb",
    "a%2F@evil", "a%00", "a..b", ".a", ".", "a..", "http://a", "*", "*.a", "a!b", "a$b", "a(b)", "a=b", "<a>", "\"a\"",
    "{a}", "a|b", "a^b", "a~b", "\u{3002}", "a\u{3002}b", "bücher", "a\u{A0}", "[]", "[", "]", "[::1", "::1", "::1]",
    "[::1]a", "[::1]:", "[::1]80", "[::1]:a", "[:1]", "[1]", "[::1%25eth0]", "[::1%eth0]", "[v1.a:b:c]", "[::g]",
    "[[::1]]", "[::1][::1]", "a[::1]", "[a b::]", "[0000:0000:0000:0000:0000:0000:0ffff:255.255.255.255]",
    String(repeating: "a", count: 255),
  ]

  @Test(arguments: good)
  func `T11: valid authorities in Host and in an absolute-form target are kept unchanged`(_ authority: String) throws {
    var head = RequestHead()
    let host = Array("GET / HTTP/1.1\r\nHost: \(authority)\r\n\r\n".utf8)
    _ = try readRequest(host, cutAt: [host.count], into: &head)
    #expect(head.host.map { head.text($0) } == authority)
    let target = Array("GET https://\(authority)/x HTTP/1.1\r\nHost: b\r\n\r\n".utf8)
    _ = try readRequest(target, cutAt: [target.count], into: &head)
    #expect(head.absoluteAuthority.map { head.text($0) } == authority)
    #expect(head.text(head.target) == "/x")
  }

  @Test(arguments: bad)
  func `T10 T11: malformed authorities are refused`(_ authority: String) {
    let reason = refusal(of: Array("GET / HTTP/1.1\r\nHost: \(authority)\r\n\r\n".utf8))?.reason
    #expect(reason == .badHost)
    let target = refusal(of: Array("GET http://\(authority)? HTTP/1.1\r\nHost: b\r\n\r\n".utf8))
    // In a target, `/` and `?` end the authority, and some characters have their own reason.
    if !"/?".contains(where: { authority.contains($0) }) {
      #expect(target != nil)
      #expect(target?.status == 400)
    }
  }

  @Test(arguments: ["Host:a", "Host:\ta\t ", "Host:  a"])
  func `whitespace around the value of Host is ignored`(_ line: String) throws {
    var head = RequestHead()
    let text = Array("GET / HTTP/1.1\r\n\(line)\r\n\r\n".utf8)
    _ = try readRequest(text, cutAt: [text.count], into: &head)
    #expect(head.host.map { head.text($0) } == "a")
  }

  @Test(arguments: [("a:443", true), ("[::1]:443", true), ("a", false), ("[::1]", false)])
  func `the target of CONNECT needs a port`(_ authority: String, _ isGood: Bool) {
    let error = refusal(of: Array("CONNECT \(authority) HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
    #expect(error?.reason == (isGood ? nil : .badTarget))
  }
}
