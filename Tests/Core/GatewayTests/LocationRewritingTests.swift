import Foundation
import Gateway
import HTTP1
import Policy
import Testing

/// URLs in responses become local paths within the service, and absolute URLs otherwise. They never lead to another
/// service (T32).
@Suite struct LocationRewritingTests {
  @Test(arguments: [
    // inside the service
    ("/base/y", "/api/y"), ("https://up.test/base/y?q#f", "/api/y?q#f"), ("//up.test/base/y", "/api/y"),
    ("HTTPS://UP.test:443/base/y", "/api/y"), ("https://user:pw@up.test/base/y", "/api/y"), ("/base/", "/api/"),
    ("/base/a/../b", "/api/b"), ("y", "y"), ("?q=1", "?q=1"), ("#f", "#f"), ("./y", "/api/y"),
    ("a/../y?q=..", "/api/y?q=.."),
    ("/base/a b", "/api/a%20b"),
    // other paths of the upstream
    ("/y", "https://up.test/y"), ("/", "https://up.test/"), ("https://up.test/y", "https://up.test/y"),
    ("//up.test/y", "https://up.test/y"), ("/based/y", "https://up.test/based/y"), ("/base", "https://up.test/base"),
    ("../y", "https://up.test/y"), ("../../../y", "https://up.test/y"), ("/base/../y", "https://up.test/y"),
    ("%2e%2e/y", "https://up.test/y"), ("I/./%2E/./../y", "/api/y"), (".%2E/a/%2e./y%2e", "https://up.test/y%2e"),
    // not a valid scheme, so browsers read a path
    ("1:x/../../y", "https://up.test/y"), ("a_b:/../../y", "https://up.test/y"), ("1:x", "1:x"),
    // other hosts, subdomains, ports, schemes
    ("https://evil.test/base/x", "https://evil.test/base/x"), ("https://a.up.test/base/x", "https://a.up.test/base/x"),
    ("https://up.test:8443/base/x", "https://up.test:8443/base/x"),
    // the upstream's own name, as servers behind a TLS proxy write it
    ("http://up.test/base/x", "/api/x"), ("http://up.test:443/base/x?q", "/api/x?q"),
    ("http://UP.test.:8080/base/", "/api/"),
    ("http://up.test/x", "https://up.test/x"), ("http://a.up.test/base/x", "http://a.up.test/base/x"),
    ("//evil.test/x", "https://evil.test/x"), ("https://u:p@evil.test/x", "https://u:p@evil.test/x"),
    ("https://b\u{fc}cher.test/x", "https://b\u{fc}cher.test/x"), ("mailto:x@y.test", "mailto:x@y.test"),
  ])
  func `redirects and links lead where the upstream meant`(location: String, expected: String) throws {
    for status in ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent", "201 Created"] {
      let played = exchange(get(), ok("Location: \(location)", status: status), try snapshot())
      #expect(value("Location", played.response) == expected)
      #expect(played.sessions.count == 1, "nobody follows")
    }
    let content = exchange(get(), ok("content-location: \(location)"), try snapshot())
    #expect(value("content-location", content.response) == expected)
    let link = exchange(get(), ok("Link: <\(location)>; rel=next"), try snapshot())
    #expect(value("Link", link.response) == "<\(expected)>; rel=next")
    let refresh = exchange(get(), ok("Refresh: 5; url=\(location)"), try snapshot())
    #expect(value("Refresh", refresh.response) == "5; url=\(expected)")
  }

  /// WHATWG URL standard, resolved against the upstream's URL. The rewritten URL has only one reading.
  @Test(arguments: [
    ("/\\evil.test/x", "https://evil.test/x"), ("\\\\evil.test/x", "https://evil.test/x"),
    ("https:\\\\evil.test", "https://evil.test"), ("http:evil.test", "http://evil.test"),
    ("https:/evil.test/x", "https://up.test/evil.test/x"), ("https:evil.test", "/api/evil.test"),
    ("https:localhost:7070/x", "/api/localhost:7070/x"), ("https:", ""), ("https:?a", "?a"),
    ("https:http://evil.test/", "/api/http://evil.test/"), ("other:<x>", "other:<x>"), ("other:a b\tc", "other:a%20bc"),

    ("///evil.test/x", "https://evil.test/x"), ("https:///evil.test/x", "https://evil.test/x"),
    ("/\u{9}/evil.test", "https://evil.test"), ("ht\ttps://evil.test/", "https://evil.test/"),
    ("/base\\y", "/api/y"), ("\\base\\y\\z", "/api/y/z"), ("/base/a\\..\\..\\z", "https://up.test/z"),
    ("y\\z", "y/z"), ("/base/y\tz", "/api/yz"), ("/base/y\t", "/api/y"), ("https://up.test\\base\\y", "/api/y"),
    ("/base/y?a=\\b#\\c", "/api/y?a=%5Cb#%5Cc"), ("?a=\\b", "?a=%5Cb"),
    ("https://evil.test\\x?\\", "https://evil.test/x?%5C"),
    ("mailto:a\\b", "mailto:a%5Cb"),
    // characters that a URL must escape
    ("/base/a|b{c}", "/api/a%7Cb%7Bc%7D"), ("/base/\"`", "/api/%22%60"), ("/base/y?q=<x>", "/api/y?q=%3Cx%3E"),
    ("/base/caf\u{e9} x", "/api/caf%C3%A9%20x"), ("/base/[id]", "/api/[id]"), ("/base/%zz", "/api/%zz"),
  ])
  func `redirects are read as browsers read URLs`(location: String, expected: String) throws {
    let played = exchange(get(), ok("Location: \(location)", "X-Kept: 1", status: "302 Found"), try snapshot())
    #expect(value("Location", played.response) == expected)
    #expect(played.records.last?.dropped.isEmpty == true)
    let refresh = exchange(get(), ok("Refresh: 5; url=\(location)"), try snapshot())
    if !location.hasPrefix("\"") { #expect(value("Refresh", refresh.response) == "5; url=\(expected)") }
  }

  @Test func `a Latin-1 byte in a redirect is percent-encoded`() throws {
    var played = exchange(get(), nil, try snapshot())
    played.upstream(
      Array("HTTP/1.1 302 Found\r\nLocation: /base/caf".utf8) + [0xE9] + Array("\r\nContent-Length: 0\r\n\r\n".utf8))
    #expect(value("Location", played.response) == "/api/caf%E9")
  }

  @Test(arguments: ["//", "https://@/x", "https://", "\\\\"])
  func `an unreadable redirect is removed and logged`(location: String) throws {
    let played = exchange(get(), ok("Location: \(location)", "X-Kept: 1", status: "302 Found"), try snapshot())
    #expect(head(played.response).dropFirst() == ["X-Kept: 1", "Content-Length: 2"])
    #expect(played.records.last?.dropped.description == "location")
  }

  /// On the local machine, another port is another program.
  @Test(arguments: [
    ("http://localhost:7443/x/", "/api/x/"), ("http://localhost/x/", "/api/x/"),
    ("https://LOCALHOST:7443/x/", "/api/x/"),
    ("//localhost:7443/x/", "/api/x/"), ("http://localhost:3000/x/", "http://localhost:3000/x/"),
    ("http://127.0.0.1:7443/x/", "http://127.0.0.1:7443/x/"),
  ])
  func `http URLs of a local HTTPS upstream belong to its service`(location: String, expected: String) throws {
    let local = try snapshot(upstream: "https://localhost:7443/")
    let played = exchange(get(), ok("Location: \(location)", status: "301 Moved"), local)
    #expect(value("Location", played.response) == expected)
  }

  @Test(arguments: [
    ("https://api.test:8443/base/y", "/api/y"), ("https://up.test:8443/base/y", "/api/y"), ("/base/y", "/api/y"),
    ("/y", "https://api.test:8443/y"), ("https://up.test:8443/y", "https://api.test:8443/y"),
    ("http://api.test/base/y", "/api/y"), ("https://up.test/base/y", "https://up.test/base/y"),
    ("https://api.test/base/y", "https://api.test/base/y"), ("http://up.test/base/y", "http://up.test/base/y"),
  ])
  func `an upstream with a server name has the URLs of this name and of the host that bearerd connects to`(
    location: String, expected: String
  ) throws {
    let named = try snapshot(upstream: "https://up.test:8443/base/") { $0.upstream.setServerName(.name("api.test")) }
    let played = exchange(get(), ok("Location: \(location)", status: "302 Found"), named)
    #expect(value("Location", played.response) == expected)
    #expect(value("Host", played.request) == "api.test:8443")
  }

  @Test func `an upstream without TLS has only URLs with its own scheme and port`() throws {
    let clear = try snapshot(upstream: "http://127.0.0.1:8000/base/", credential: .none)
    for url in ["http://127.0.0.1/base/x", "https://127.0.0.1:8000/base/x"] {
      #expect(value("Location", exchange(get(), ok("Location: \(url)"), clear).response) == url)
    }
  }

  @Test(arguments: [
    "http://localhost:7070/other/x", "http://LOCALHOST:7070/api/x", "http://127.0.0.1:7070/", "http://[::1]:7070/",
    "http://127.1:7070/", "http://2130706433:7070/", "http://0x7f.1:7070/x", "http://127.0.0.2:7070/",
    "http://0.0.0.0:7070/",
    "http://[::ffff:127.0.0.1]:7070/", "http://localhost.:7070/", "//localhost:7070/x", "http://u:p@localhost:7070/",
    "http:\\\\localhost:7070\\x", "/\\localhost:7070/", "http:localhost:7070/", "http:/\t/localhost:70\t70/",
    "http://other.localhost:7070/", "https://localhost:7070/", "//[::1]:7070:", "http://127.0.0.1:7070::/x",
    "http://[::ffff:127.0.0.1]:7070./", "//[::]:7070:443/",
  ])
  func `a redirect or link to a listener is refused`(location: String) throws {
    for field in ["Location: \(location)", "Link: </base/>, <\(location)>; rel=next", "Refresh: 0;URL='\(location)'"] {
      let played = exchange(get(), ok("Set-Cookie: a=b", field, status: "302 Found", body: "secret"), try snapshot())
      #expect(status(played.response) == "502" && played.response.contains("redirect-to-self"))
      #expect(!played.response.contains("secret") && !played.log.contains("release"))
    }
  }

  @Test(arguments: [
    ("https://up.test//evil.test/x", "https://up.test//evil.test/x"),
    ("/.//evil.test/x", "https://up.test//evil.test/x"),
    ("/x", "/x"),
  ])
  func `a path that begins with two slashes does not become a host name`(location: String, expected: String) throws {
    let whole = try snapshot(at: .whole, upstream: "https://up.test/")
    let played = exchange(get(target: "/x"), ok("Location: \(location)", status: "302 Found"), whole)
    #expect(value("Location", played.response) == expected)
  }

  @Test(arguments: [
    ("/base/admin/x", "https://up.test/base/admin/x"), ("/base/%61dmin/x", "https://up.test/base/%61dmin/x"),
    ("/base/admin;v=1/x", "https://up.test/base/admin;v=1/x"), ("admin/x", "https://up.test/base/admin/x"),
    ("/base//admin/x", "https://up.test/base//admin/x"), ("/base/administrator", "/api/administrator"),
    ("other", "/api/other"),
  ])
  func `a path that belongs to a nested service is not rewritten as a local path`(location: String, expected: String)
    throws
  {
    let nested = try snapshot(more: [try service("admin", at: "/api/admin/", upstream: "https://admin.test/")])
    let played = exchange(get(), ok("Location: \(location)", status: "302 Found"), nested)
    #expect(value("Location", played.response) == expected)
  }

  @Test(arguments: [
    ("5", "5"), ("0;/y", "0; url=https://up.test/y"), ("0, /base/y", "0; url=/api/y"),
    ("1.5 ; URL = \"/base/y\"", "1.5; url=/api/y"),
    ("0;url='/base/y' x", "0; url=/api/y"), ("3;", "3;"),
  ])
  func `a Refresh field is read as browsers do`(value written: String, expected: String) throws {
    let played = exchange(get(), ok("Refresh: \(written)"), try snapshot())
    #expect(value("Refresh", played.response) == expected)
  }

  @Test func `links in quoted strings are not rewritten`() throws {
    let written = "</base/a>; title=\"a\\\"</base/b>\", </base/c>; rel=\"x"
    let played = exchange(get(), ok("Link: \(written)"), try snapshot())
    #expect(value("Link", played.response) == "</api/a>; title=\"a\\\"</base/b>\", </api/c>; rel=\"x")
  }
  @Test func `T60: a Link field with too many links is removed`() throws {
    func link(_ count: Int, target: String = "/api/x", _ reference: String = "a") throws -> String? {
      let links = Array(repeating: "<\(reference)>", count: count).joined(separator: ",")
      let played = exchange(get(target: target), ok("Link: \(links)", "X-Kept: 1"), try snapshot())
      #expect(value("X-Kept", played.response) == "1")
      let isThere = value("Link", played.response) != nil
      #expect(played.records.last?.dropped.description == (isThere ? "" : "link"))
      return value("Link", played.response)
    }
    #expect(try link(2_048) != nil)
    #expect(try link(2_049) == nil)
    let deep = "/api/" + String(repeating: "x", count: 15_000) + "/y"
    #expect(try link(14, target: deep, "./a") != nil)
    #expect(try link(400, target: deep, "a") != nil, "what need not be resolved is as it was")
    #expect(try link(400, target: deep, "./a") == nil)
  }

  @Test func `T60: all interim responses share one limit of links`() throws {
    var conversation = Conversation(try snapshot())
    conversation.client(get())
    let links = Array(repeating: "<a>", count: 800).joined(separator: ",")
    for _ in 0..<3 { conversation.upstream("HTTP/1.1 103 Early Hints\r\nLink: \(links)\r\n\r\n") }
    conversation.upstream(ok("Link: \(links)"))
    #expect(conversation.response.components(separatedBy: "Link: ").count == 4)
    #expect(value("Link", conversation.response.components(separatedBy: "\r\n\r\n")[3]) != nil)
  }
}
