import TestServer
import ServerSupport
import TestSupport
import Testing

@Suite(.inProcess) struct FragmentedMessageTests {
  @Test func `a request that arrives byte by byte gets a response`() throws {
    let stage = try Stage(
      handler: UpstreamServer.httpHandler { request in
        let body = Array("\(request.path) ".utf8) + request.body
        return Array("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n".utf8) + body
      })
    try stage.start()
    let client = try stage.raw()
    let one = Array((try stage.head("POST", "/api/one", fields: "Content-Length: 3\r\n") + "abc").utf8)
    let two = Array(
      (try stage.head("POST", "/api/two", fields: "Transfer-Encoding: chunked\r\n") + "3\r\nxyz\r\n0\r\n\r\n").utf8)
    for byte in one + two { try client.send([byte]) }
    #expect(try client.response().body == "/one abc")
    #expect(try client.response().body == "/two xyz")
  }

  @Test func `a second request that is split at any byte gets a response`() throws {
    let stage = try Stage()
    try stage.start()
    let client = try stage.raw()
    let head = Array(try stage.head("GET").utf8)
    // One complete request and the beginning of the next request in one write.
    for cut in stride(from: 1, to: head.count, by: 7) {
      try client.send(head + head[..<cut])
      #expect(try client.response().body == "hello")
      try client.send(Array(head[cut...]))
      #expect(try client.response().body == "hello")
    }
  }

  @Test func `a response that arrives byte by byte is forwarded`() throws {
    let stage = try Stage { connection in
      while connection.head() != nil {
        for byte
          in "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nX-Y: z\r\nContent-Length: 2\r\n\r\nhi"
          .utf8
        {
          try? connection.write([byte])
        }
      }
    }
    try stage.start()
    let client = try stage.raw()
    for _ in 0..<2 {
      try client.send(stage.head("GET"))
      #expect(try client.head().hasPrefix("HTTP/1.1 103 Early Hints\r\n"))
      let response = try client.response()
      #expect(response.head.contains("X-Y: z\r\n"))
      #expect(response.body == "hi")
    }
    #expect(stage.upstream.records.count == 1)
  }

  @Test func `a truncated response head does not affect the next response`() throws {
    let number = Counter()
    let stage = try Stage { connection in
      guard connection.head() != nil else { return }
      if number.add() == 0 {
        connection.send("HTTP/1.1 200 OK\r\nContent-Len")
      } else {
        connection.respond("whole")
      }
    }
    try stage.start()
    let client = try stage.raw()
    try client.send(stage.head("POST", fields: "Content-Length: 0\r\n"))
    let broken = try client.response()
    #expect(broken.head.hasPrefix("HTTP/1.1 502 "))
    #expect(broken.body.contains("upstream-closed"))
    try client.send(stage.head("GET"))
    #expect(try client.response().body == "whole")
  }
}
