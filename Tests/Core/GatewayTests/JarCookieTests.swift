@testable import Gateway
import HTTP1
import Policy
import Primitives
import Testing

/// The cookies that are kept with `cookies: jar` (RFC 6265 section 5).
@Suite struct JarCookieTests {
  private func kept(_ line: [UInt8], host: String = "api.example.com", path: String = "/v1/list/x") throws -> String? {
    let cookie = JarCookie(
      0..<line.count, of: line.span, host: try HostName(parsing: host), requestPath: Array(path.utf8))
    guard let cookie else { return nil }
    return String(decoding: line[cookie.name], as: UTF8.self) + "="
      + String(decoding: line[cookie.value], as: UTF8.self)
      + " " + String(decoding: cookie.path, as: UTF8.self)
  }

  private static let rows: [(String, String?)] = [
    ("a=b", "a=b /v1/list"),
    (" a = b ; Secure; HttpOnly; SameSite=Lax", "a=b /v1/list"),
    ("a=b; Path=/", "a=b /"),
    ("a=b; path=/v1", "a=b /v1"),
    ("a=b; Path=/v1/; Path=/x", "a=b /x"),
    ("a=b; Path=/v1; Path", "a=b /v1/list"),
    ("a=b; Path=v1", "a=b /v1/list"),
    ("a=b; Path=\(String(repeating: "/", count: 1_025))", "a=b /v1/list"),
    ("a=\"b; c\"", "a=\"b /v1/list"),
    ("a=\"b, c\"; Path=/", "a=\"b, c\" /"),
    ("a[0]=b\\c; Path=/", "a[0]=b\\c /"),
    ("a=; Path=/", "a= /"),
    ("a=b; Domain=api.example.com", "a=b /v1/list"),
    ("a=b; Domain=.API.Example.COM", "a=b /v1/list"),
    ("a=b; Domain=", "a=b /v1/list"),
    ("a=b; Domain", "a=b /v1/list"),
    ("a=b; Domain=example.com", nil),
    ("a=b; Domain=com", nil),
    ("a=b; Domain=.example.com", nil),
    ("a=b; Domain=other.example.com", nil),
    ("a=b; Domain=x.api.example.com", nil),
    ("a=b; Domain=..api.example.com", nil),
    ("a=b; Domain=.", nil),
    ("a=b; Domain=api.example.com; Domain=example.com", nil),
    ("a=b; Domain=\(String(repeating: "x", count: 300))", nil),
    ("__Secure-a=b; Path=/", nil),
    ("__secure-a=b; Path=/; Secure", "__secure-a=b /"),
    ("__Host-a=b; Path=/; Secure", "__Host-a=b /"),
    ("__Host-a=b; Path=/", nil),
    ("__Host-a=b; Secure", nil),
    ("__HOST-a=b; Path=/v1; Secure", nil),
    ("__Host-a=b; Path=/; Secure; Domain=api.example.com", nil),
    ("a\u{e9}=b", nil),
    ("a=b\u{e9}", nil),
    ("a b=c", nil),
    ("a\tb=c", nil),
    ("a=b\tc", nil),
    ("=b", nil),
    ("a", nil),
    ("", nil),
  ]

  @Test(arguments: rows.indices) func `T34: jar cookies are host-only, have a path, and obey the prefix of their name`(
    _ index: Int
  )
    throws
  {
    let (line, wanted) = Self.rows[index]
    #expect(try kept(Array(line.utf8)) == wanted, "\(line)")
  }

  @Test func `T43: a Set-Cookie field with a control byte is ignored`() throws {
    for byte in (0...0x1F).map(UInt8.init) + [0x7F] where byte != 0x09 {
      for line in ["a\0=b", "a=\0b", "a=b\0", "a=b; Path=/\0x", "a=b; x=\0"] {
        #expect(try kept(line.utf8.map { $0 == 0 ? byte : $0 }) == nil, "\(line) with \(byte)")
      }
    }
    #expect(try kept(Array("a=b; x=\ty".utf8)) == "a=b /v1/list")
  }

  @Test func `a cookie longer than 4 KiB is ignored`() throws {
    let longest = String(repeating: "v", count: 4_095)
    #expect(try kept(Array("a=\(longest); Path=/".utf8)) == "a=\(longest) /")
    #expect(try kept(Array("aa=\(longest); Path=/".utf8)) == nil)
  }

  @Test(arguments: [("/", "/"), ("/a", "/"), ("/a/", "/a"), ("/a/b/c", "/a/b"), ("", "/"), ("*", "/")])
  func `a cookie without Path gets the directory of the request`(_ path: String, _ wanted: String) throws {
    #expect(try kept(Array("a=b".utf8), path: path) == "a=b \(wanted)")
  }

  @Test func `an upstream with an IP address accepts only this address as Domain`() throws {
    #expect(try kept(Array("a=b; Path=/; Domain=127.0.0.1".utf8), host: "127.0.0.1") == "a=b /")
    #expect(try kept(Array("a=b; Path=/; Domain=0.0.1".utf8), host: "127.0.0.1") == nil)
  }

  // MARK: requests and answers

  private func conversation(
    _ fields: String = "", response: String, edit: (inout Service) -> Void = { _ in }
  ) throws -> Conversation {
    let snapshot = try snapshot {
      $0.options.cookies = .jar
      edit(&$0)
    }
    return exchange("GET /api/x HTTP/1.1\r\nHost: localhost:7070\r\n\(fields)\r\n", response, snapshot)
  }

  @Test func `T34: with a jar, no cookie passes in either direction`() throws {
    let conversation = try conversation(
      "Cookie: a=mine\r\ncookie: b=2\r\n", response: ok("Set-Cookie: s=1", "Set-Cookie2: t=2"))
    #expect(!conversation.request.lowercased().contains("cookie"), "\(conversation.request)")
    #expect(!conversation.response.lowercased().contains("cookie"), "\(conversation.response)")
  }

  @Test func `T34: with a jar, the client's own cookies are never sent, even if allowed`() throws {
    let conversation = try conversation("Cookie: a=mine\r\n", response: ok()) {
      $0.headers.allowClientHeaders = ["cookie"]
    }
    #expect(!conversation.request.lowercased().contains("cookie"), "\(conversation.request)")
  }

  @Test func `T34: each cookie is given to the jar once, and erased from the head`() throws {
    var conversation = try conversation(
      response: ok("Set-Cookie: a=QZQZ", "X-A: 1", "set-cookie: b=QZQZ; Domain=test", "Set-Cookie: c=QZQZ; Path=/"))
    #expect(conversation.removeJarCookies() == ["a=QZQZ /base", "c=QZQZ /"])
    #expect(conversation.removeJarCookies() == [])
    #expect(!String(decoding: conversation.responseHead.bytes, as: UTF8.self).contains("QZQZ"))
  }

  /// A secret in another field is masked (T33).
  @Test func `T34: cookies reach the jar without masking`() throws {
    var conversation = try conversation(
      response: ok("Set-Cookie: a=x^y; Path=/", "X-A: x^y", "Set-Cookie: b=^; Path=/"))
    #expect(conversation.response.contains("X-A: x*y\r\n"))
    #expect(conversation.removeJarCookies() == ["a=x^y /", "b=^ /"])
    #expect(conversation.records.map(\.redactions) == [1])
  }

  @Test func `T34: no cookies are kept from interim responses, or without bearerd's credential`() throws {
    let own = "Authorization: Bearer mine\r\n"
    var kept = try conversation(own, response: ok("Set-Cookie: a=b")) { $0.headers.onClientHeader = .keep }
    #expect(kept.removeJarCookies() == [] && !kept.response.contains("Set-Cookie"))
    var bare = try conversation(response: ok("Set-Cookie: a=b")) { $0.credential = .none }
    #expect(bare.removeJarCookies() == [] && !bare.response.contains("Set-Cookie"))
    var interim = try conversation(response: "HTTP/1.1 103 Early Hints\r\nSet-Cookie: a=b\r\n\r\n" + ok())
    #expect(interim.removeJarCookies() == [] && !interim.response.contains("Set-Cookie"))
  }
}

extension Conversation {
  /// Removes the cookies for the jar, and returns each with its path.
  fileprivate mutating func removeJarCookies() -> [String] {
    var cookies: [String] = []
    box.machine.relay.exchange.removeJarCookies { cookie, bytes in
      var pair: [UInt8] = []
      pair.append(bytes.extracting(cookie.name))
      pair.append(UInt8(ascii: "="))
      pair.append(bytes.extracting(cookie.value))
      cookies.append(String(decoding: pair, as: UTF8.self) + " " + String(decoding: cookie.path, as: UTF8.self))
    }
    return cookies
  }
}
