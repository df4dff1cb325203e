import DemoUpstream
import TestSupport
import Testing

@Suite struct UpgradesAreNotForwarded {
  @Test(arguments: [
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZQ==\r\n",
    "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n",
  ])
  func `a request to upgrade goes out as a plain one`(fields: String) throws {
    let stage = try Stage()
    try stage.start()
    let client = try stage.raw()
    for _ in 0..<2 {
      try client.send(stage.head("GET", fields: fields))
      #expect(try client.answer().body == "hello")
    }
    let recorded = stage.recorded.lowercased()
    #expect(!recorded.contains("upgrade:") && !recorded.contains("connection:") && !recorded.contains("http2-settings"))
    stage.assertCanary(times: 2)
  }

  @Test func `T26: a switch of protocols that nobody asked for is refused`() throws {
    let stage = try Stage { connection in
      while let (head, _) = connection.head() {
        if head.contains("/alive") {
          connection.answer("alive")
        } else {
          connection.say(
            "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n\u{01}evil")
        }
      }
    }
    try stage.start()
    let client = try stage.raw()
    try client.send(stage.head("GET", fields: "Connection: Upgrade\r\nUpgrade: websocket\r\n"))
    let answer = try client.answer()
    #expect(answer.head.hasPrefix("HTTP/1.1 502 "))
    #expect(answer.body.contains("unrequested-upgrade"))
    try client.send(stage.head("GET", "/api/alive"))
    #expect(try client.answer().body == "alive")
    #expect(stage.upstream.records.count == 2)
  }
}
