import TestServer
import Foundation
import ServerSupport
import TestSupport
import Testing

@Suite(.inProcess) struct EarlyResponseTests {
  @Test(arguments: [false, true])
  func `T17: an early response is forwarded, and its connection is not reused`(
    closes: Bool
  ) throws {
    let stage = try Stage { connection in
      while let (head, _) = connection.head() {
        if head.contains("/alive") {
          connection.respond("alive")
        } else {
          connection.respond("too large", status: "413 Content Too Large")
          if closes {
            connection.reset()
            return
          }
        }
      }
    }
    try stage.start()
    for _ in 0..<3 {
      let client = try stage.raw()
      try client.send(stage.head("PUT", fields: "Content-Length: 50000000\r\n"))
      var sent = 0
      // The upload stops when the response has arrived or the socket is full.
      while sent < 8 << 20, let count = Optional(client.sendWithoutWaiting(Pattern.bytes(at: sent, count: 65_536))),
        count > 0
      {
        sent += count
      }
      let response = try client.response()
      #expect(response.head.hasPrefix("HTTP/1.1 413 "))
      #expect(response.head.contains("Connection: close\r\n"))
      #expect(response.body == "too large")
      #expect(try stage.isAlive())
    }
    // No connection with an upload carried a later request.
    var uploads = 0
    for record in stage.upstream.records {
      let text = String(decoding: record.bytes, as: UTF8.self)
      guard let upload = text.range(of: "PUT /base/x ") else { continue }
      uploads += 1
      #expect(!text[upload.upperBound...].contains("/base/"))
    }
    #expect(uploads == 3)
    stage.assertCanary(times: 6)
  }

  @Test func `request and response bodies are forwarded at the same time`() throws {
    let stage = try Stage { connection in
      guard var (_, bytes) = connection.head() else { return }
      connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
      // Echoes the body.
      while true {
        if !bytes.isEmpty {
          if bytes.suffix(5).elementsEqual("0\r\n\r\n".utf8) {
            connection.send("0\r\n\r\n")
            return
          }
          try? connection.write(bytes)
        }
        bytes = (try? connection.read()) ?? Array("0\r\n\r\n".utf8)
      }
    }
    try stage.start()
    let client = try stage.raw()
    try client.send(stage.head("POST", fields: "Transfer-Encoding: chunked\r\n"))
    _ = try client.head()
    for number in 100..<120 {
      try client.send("3\r\n\(number)\r\n")
      #expect(try client.line() == "3")
      #expect(try client.line() == "\(number)")
    }
    try client.send("0\r\n\r\n")
    #expect(try client.line() == "0")
  }
}
