import TestServer
import Foundation
import ServerSupport
import TestSupport
import Testing

@Suite(.inProcess) struct FramingIsTranslated {
  private func stage(_ response: String, closes: Bool = false) throws -> Stage {
    let stage = try Stage { connection in
      while connection.head() != nil {
        connection.send(response)
        if closes { return }
      }
    }
    try stage.start()
    return stage
  }

  @Test func `an HTTP/1.0 client gets a chunked response unchunked, and its connection is closed`() throws {
    let stage = try stage(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\nX-T: t\r\n\r\n")
    let client = try stage.raw()
    try client.send(stage.head("GET", version: "1.0"))
    let head = try client.head()
    #expect(head.hasPrefix("HTTP/1.1 200 OK\r\n"))
    #expect(!head.contains("Transfer-Encoding"))
    #expect(head.contains("Connection: close\r\n"))
    #expect(client.rest() == (Array("onetwo".utf8), .clean))
    // The upstream connection stays open.
    #expect(try stage.get().text == "onetwo")
    #expect(stage.upstream.records.count == 1)
  }

  @Test func `an HTTP/1.0 client can keep its connection open`() throws {
    let stage = try stage("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    let client = try stage.raw()
    for _ in 0..<3 {
      try client.send(stage.head("GET", fields: "Connection: keep-alive\r\n", version: "1.0"))
      let response = try client.response()
      #expect(response.head.contains("Connection: keep-alive\r\n"))
      #expect(response.body == "ok")
    }
    try client.send(stage.head("GET", version: "1.0"))
    #expect(try client.response().head.contains("Connection: close\r\n"))
    #expect(client.rest() == ([], .clean))
  }

  @Test func `Connection: close closes the connection and is confirmed in the response`() throws {
    let stage = try stage("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    let client = try stage.raw()
    try client.send(stage.head("GET", fields: "Connection: close\r\n"))
    let response = try client.response()
    #expect(response.head.contains("Connection: close\r\n"))
    #expect(client.rest() == ([], .clean))
    #expect(!stage.recorded.contains("Connection: close"))
  }

  @Test(arguments: [
    ("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", "Content-Length: 7\r\n"),
    ("HEAD", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", ""),
    ("GET", "HTTP/1.1 204 No Content\r\n\r\n", ""),
    ("GET", "HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\nContent-Length: 7\r\n\r\n", "Content-Length: 7\r\n"),
    ("GET", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "Content-Length: 0\r\n"),
  ])
  func `a response without a body keeps both connections open`(method: String, response: String, length: String) throws
  {
    let stage = try stage(response)
    let client = try stage.raw()
    for _ in 0..<3 {
      try client.send(stage.head(method))
      let head = try client.head()
      #expect(head.hasPrefix(response.prefix(12)))
      #expect(length.isEmpty ? !head.contains("Content-Length") : head.contains(length))
    }
    #expect(stage.upstream.records.count == 1)
  }

  @Test func `a body until close becomes chunked, and the client's connection stays open`() throws {
    let stage = try stage("HTTP/1.0 200 OK\r\n\r\nuntil close", closes: true)
    let client = try stage.raw()
    for _ in 0..<2 {
      try client.send(stage.head("GET"))
      #expect(try client.head().contains("Transfer-Encoding: chunked\r\n"))
      var body: [UInt8] = []
      try client.chunks { body += $0 }
      #expect(body == Array("until close".utf8))
    }
  }

  @Test func `trailers are forwarded in both directions`() throws {
    let stage = try Stage { connection in
      while let (_, rest) = connection.head() {
        var bytes = rest
        while !bytes.suffix(4).elementsEqual("\r\n\r\n".utf8) {
          bytes += (try? connection.read()) ?? Array("\r\n\r\n".utf8)
        }
        connection.send(
          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Down\r\n\r\n2\r\nok\r\n0\r\nX-Down: d\r\n\r\n")
      }
    }
    try stage.start()
    let client = try stage.raw()
    for _ in 0..<2 {
      try client.send(
        stage.head("POST", fields: "TE: trailers\r\nTransfer-Encoding: chunked\r\n") + "2\r\nhi\r\n0\r\nX-Up: u\r\n\r\n"
      )
      _ = try client.head()
      var body: [UInt8] = []
      let trailers = try client.chunks { body += $0 }
      #expect(body == Array("ok".utf8))
      #expect(trailers == ["X-Down: d"])
    }
    #expect(stage.recorded.components(separatedBy: "2\r\nhi\r\n0\r\nX-Up: u\r\n\r\n").count == 3)
    #expect(stage.recorded.contains("TE: trailers\r\n"))
  }
}
