import TestServer
import Foundation
import ServerSupport
import TestSupport
import Testing

@Suite(.inProcess) struct EarlyAnswers {
  @Test(arguments: [false, true])
  func `T17: an answer while the body is under way is delivered, and nothing of it reaches another request`(
    closes: Bool
  ) throws {
    let stage = try Stage { connection in
      while let (head, _) = connection.head() {
        if head.contains("/alive") {
          connection.answer("alive")
        } else {
          connection.answer("too large", status: "413 Content Too Large")
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
      // Only as much as is taken: the answer may come at any time.
      while sent < 8 << 20, let count = Optional(client.sendWithoutWaiting(Pattern.bytes(at: sent, count: 65_536))),
        count > 0
      {
        sent += count
      }
      let answer = try client.answer()
      #expect(answer.head.hasPrefix("HTTP/1.1 413 "))
      #expect(answer.head.contains("Connection: close\r\n"))
      #expect(answer.body == "too large")
      #expect(try stage.isAlive())
    }
    // What carried an upload carried nothing after it.
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

  @Test func `an answer that goes on while the body goes up is passed on as it comes`() throws {
    let stage = try Stage { connection in
      guard var (_, bytes) = connection.head() else { return }
      connection.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
      // An echo.
      while true {
        if !bytes.isEmpty {
          if bytes.suffix(5).elementsEqual("0\r\n\r\n".utf8) {
            connection.say("0\r\n\r\n")
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
