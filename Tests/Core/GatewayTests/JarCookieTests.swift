@testable import Gateway
import HTTP1
import Policy
import Primitives
import Testing

/// What of an upstream's Set-Cookie is kept for `cookies: jar` (RFC 6265 section 5).
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

  @Test(arguments: rows.indices) func `T34: Host-only, by its path, and what its name promises`(_ index: Int)
    throws
  {
    let (line, wanted) = Self.rows[index]
    #expect(try kept(Array(line.utf8)) == wanted, "\(line)")
  }

  @Test func `T43: A control byte anywhere, and none of the line is kept`() throws {
    for byte in (0...0x1F).map(UInt8.init) + [0x7F] where byte != 0x09 {
      for line in ["a\0=b", "a=\0b", "a=b\0", "a=b; Path=/\0x", "a=b; x=\0"] {
        #expect(try kept(line.utf8.map { $0 == 0 ? byte : $0 }) == nil, "\(line) with \(byte)")
      }
    }
    #expect(try kept(Array("a=b; x=\ty".utf8)) == "a=b /v1/list")
  }

  @Test func `What is longer than 4 KiB is none`() throws {
    let longest = String(repeating: "v", count: 4_095)
    #expect(try kept(Array("a=\(longest); Path=/".utf8)) == "a=\(longest) /")
    #expect(try kept(Array("aa=\(longest); Path=/".utf8)) == nil)
  }

  @Test(arguments: [("/", "/"), ("/a", "/"), ("/a/", "/a"), ("/a/b/c", "/a/b"), ("", "/"), ("*", "/")])
  func `Without a Path, the directory of the request`(_ path: String, _ wanted: String) throws {
    #expect(try kept(Array("a=b".utf8), path: path) == "a=b \(wanted)")
  }

  @Test func `Addresses have no domain but themselves`() throws {
    #expect(try kept(Array("a=b; Path=/; Domain=127.0.0.1".utf8), host: "127.0.0.1") == "a=b /")
    #expect(try kept(Array("a=b; Path=/; Domain=0.0.1".utf8), host: "127.0.0.1") == nil)
  }

  // MARK: requests and answers

  private func conversation(
    _ fields: String = "", answer: String, edit: (inout Service) -> Void = { _ in }
  ) throws -> Conversation {
    let snapshot = try snapshot {
      $0.headers.cookies = .jar
      edit(&$0)
    }
    return exchange("GET /api/x HTTP/1.1\r\nHost: localhost:7070\r\n\(fields)\r\n", answer, snapshot)
  }

  @Test func `T34: No cookie passes in either direction`() throws {
    let conversation = try conversation(
      "Cookie: a=mine\r\ncookie: b=2\r\n", answer: ok("Set-Cookie: s=1", "Set-Cookie2: t=2"))
    #expect(!conversation.request.lowercased().contains("cookie"), "\(conversation.request)")
    #expect(!conversation.answer.lowercased().contains("cookie"), "\(conversation.answer)")
  }

  @Test func `T34: None of a program's own goes out beside the jar's, whatever else lets it`() throws {
    let conversation = try conversation("Cookie: a=mine\r\n", answer: ok()) {
      $0.headers.allowClientHeaders = ["cookie"]
    }
    #expect(!conversation.request.lowercased().contains("cookie"), "\(conversation.request)")
  }

  @Test func `T34: Each line is handed on, once, and nothing of any stays in the head`() throws {
    var conversation = try conversation(
      answer: ok("Set-Cookie: a=QZQZ", "X-A: 1", "set-cookie: b=QZQZ; Domain=test", "Set-Cookie: c=QZQZ; Path=/"))
    #expect(conversation.removeJarCookies() == ["a=QZQZ /base", "c=QZQZ /"])
    #expect(conversation.removeJarCookies() == [])
    #expect(!String(decoding: conversation.response.bytes, as: UTF8.self).contains("QZQZ"))
  }

  /// An upstream that repeats it in another field is another matter (T33): there it is masked.
  @Test func `T34: what the search of the head would mask comes into the jar as it is`() throws {
    var conversation = try conversation(answer: ok("Set-Cookie: a=x^y; Path=/", "X-A: x^y", "Set-Cookie: b=^; Path=/"))
    #expect(conversation.answer.contains("X-A: x*y\r\n"))
    #expect(conversation.removeJarCookies() == ["a=x^y /", "b=^ /"])
    #expect(conversation.records.map(\.redactions) == [1])
  }

  @Test func `T34: Nothing is kept of what had no credential of ours, nor of an interim answer`() throws {
    let own = "Authorization: Bearer mine\r\n"
    var kept = try conversation(own, answer: ok("Set-Cookie: a=b")) { $0.headers.onClientHeader = .keep }
    #expect(kept.removeJarCookies() == [] && !kept.answer.contains("Set-Cookie"))
    var bare = try conversation(answer: ok("Set-Cookie: a=b")) { $0.credential = .none }
    #expect(bare.removeJarCookies() == [] && !bare.answer.contains("Set-Cookie"))
    var interim = try conversation(answer: "HTTP/1.1 103 Early Hints\r\nSet-Cookie: a=b\r\n\r\n" + ok())
    #expect(interim.removeJarCookies() == [] && !interim.answer.contains("Set-Cookie"))
  }
}

extension Conversation {
  /// What the shell takes for the jar, each with its path.
  fileprivate mutating func removeJarCookies() -> [String] {
    var cookies: [String] = []
    box.machine.withExchange { exchange in
      exchange.removeJarCookies { cookie, bytes in
        var pair: [UInt8] = []
        pair.append(bytes.extracting(cookie.name))
        pair.append(UInt8(ascii: "="))
        pair.append(bytes.extracting(cookie.value))
        cookies.append(String(decoding: pair, as: UTF8.self) + " " + String(decoding: cookie.path, as: UTF8.self))
      }
    }
    return cookies
  }
}
