import Gateway
import HTTP1
import Policy
import Testing

/// The log names the parts of a response that the client does not get.
@Suite struct DroppedFieldTests {
  private func dropped(_ fields: String..., world: Snapshot? = nil) throws -> String? {
    let response = "HTTP/1.1 200 OK\r\n" + fields.map { $0 + "\r\n" }.joined() + "Content-Length: 2\r\n\r\nhi"
    return exchange(get(), response, try world ?? snapshot()).records.last?.dropped.description
  }

  @Test(arguments: [
    ("Set-Cookie: a=b", "set-cookie"), ("Location: //", "location"), ("Content-Location: //", "content-location"),
    ("Link: <//>", "link"), ("Refresh: x", "refresh"), ("Strict-Transport-Security: max-age=1", "origin-header"),
    ("Proxy-Status: bearerd", "proxy-status"), ("X Y: z", "illegal-name"), ("X : z", ""), ("Location: /base/x", ""),
    ("Connection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5", ""),
    ("Set-Cookie: a=b\r\nAlt-Svc: x\r\nLocation: //", "set-cookie,location,origin-header"),
  ])
  func `each dropped field is logged once by its name`(fields: String, names: String) throws {
    #expect(try dropped(fields) == names)
    #expect(try dropped(fields, fields) == names)
  }

  @Test(arguments: [
    ("a=b", ""), ("a=b Path=/", "set-cookie"), ("__Secure-a=b; Secure", "set-cookie"),
    ("__host-a=b; Secure", "set-cookie"),
    ("__Http-a=b; Secure; HttpOnly", "set-cookie"), ("__Hos-a=b", ""), ("__H", ""),
  ])
  func `a cookie that the client could not keep is logged`(cookie: String, names: String) throws {
    #expect(try dropped("Set-Cookie: \(cookie)", world: snapshot { $0.options.cookies = .pass }) == names)
  }

  @Test func `a cookie that the jar rejects is logged`() throws {
    let world = try snapshot { $0.options.cookies = .jar }
    for (cookie, names) in [("a=b", ""), ("a=b; Domain=other.test", "set-cookie")] {
      var played = Conversation(world)
      played.client(get())
      played.upstream("HTTP/1.1 200 OK\r\nSet-Cookie: \(cookie)\r\nContent-Length: 2\r\n\r\n")
      played.box.machine.relay.exchange.removeJarCookies { _, _ in }
      played.upstream("hi")
      #expect(played.records.last?.dropped.description == names)
    }
  }

  @Test func `a URL field with too many URLs is logged`() throws {
    let urls = Array(repeating: "//a.test/", count: 2_049).joined(separator: " ")
    #expect(try dropped("Operation-Location: \(urls)") == "url-field")
    let links = Array(repeating: "Link: </base/x>; rel=preload", count: 300).joined(separator: "\r\n")
    #expect(try dropped(links) == "")
    let played = exchange(get(), "HTTP/1.1 200 OK\r\n\(links)\r\nContent-Length: 0\r\n\r\n", try snapshot())
    #expect(played.response.components(after: "Link: </api/x>").count == 300)
  }

  @Test func `dropped interim responses and trailers are logged`() throws {
    let interim = "HTTP/1.1 103 Hi\r\nLink: <http://localhost:7070/>\r\n\r\n"
    #expect(exchange(get(), interim + ok(), try snapshot()).records.last?.dropped.description == "interim")
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n"
    for (trailer, version, names) in [
      ("X-A: 1", "1.1", ""), ("Date: x", "1.1", "trailer"), ("SourceMap: http://localhost:7070/", "1.1", "trailer"),
      ("X-A: 1", "1.0", "trailer"),
    ] {
      let played = exchange(get(version: version), chunked + trailer + "\r\n\r\n", try snapshot())
      #expect(played.records.last?.dropped.description == names, "\(trailer)")
    }
  }
}
