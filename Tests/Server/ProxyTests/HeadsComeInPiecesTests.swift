import TestServer
import ServerSupport
import TestSupport
import Testing

@Suite(.inProcess) struct HeadsComeInPieces {
  @Test func `a request that comes byte by byte is answered`() throws {
    let stage = try Stage(
      handler: UpstreamServer.recordingHTTP { request in
        let body = Array("\(request.path) ".utf8) + request.body
        return Array("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n".utf8) + body
      })
    try stage.start()
    let client = try stage.raw()
    let one = Array((try stage.head("POST", "/api/one", fields: "Content-Length: 3\r\n") + "abc").utf8)
    let two = Array(
      (try stage.head("POST", "/api/two", fields: "Transfer-Encoding: chunked\r\n") + "3\r\nxyz\r\n0\r\n\r\n").utf8)
    for byte in one + two { try client.send([byte]) }
    #expect(try client.answer().body == "/one abc")
    #expect(try client.answer().body == "/two xyz")
  }

  @Test func `a second request that is cut anywhere is answered`() throws {
    let stage = try Stage()
    try stage.start()
    let client = try stage.raw()
    let head = Array(try stage.head("GET").utf8)
    // The whole of one and the beginning of the next in one write.
    for cut in stride(from: 1, to: head.count, by: 7) {
      try client.send(head + head[..<cut])
      #expect(try client.answer().body == "hello")
      try client.send(Array(head[cut...]))
      #expect(try client.answer().body == "hello")
    }
  }

  @Test func `an answer that comes byte by byte is passed on`() throws {
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
      let answer = try client.answer()
      #expect(answer.head.contains("X-Y: z\r\n"))
      #expect(answer.body == "hi")
    }
    #expect(stage.upstream.records.count == 1)
  }

  @Test func `an answer that breaks off within its head does not spoil the next one`() throws {
    let number = Counter()
    let stage = try Stage { connection in
      guard connection.head() != nil else { return }
      if number.add() == 0 {
        connection.say("HTTP/1.1 200 OK\r\nContent-Len")
      } else {
        connection.answer("whole")
      }
    }
    try stage.start()
    let client = try stage.raw()
    try client.send(stage.head("POST", fields: "Content-Length: 0\r\n"))
    let broken = try client.answer()
    #expect(broken.head.hasPrefix("HTTP/1.1 502 "))
    #expect(broken.body.contains("upstream-closed"))
    try client.send(stage.head("GET"))
    #expect(try client.answer().body == "whole")
  }
}
