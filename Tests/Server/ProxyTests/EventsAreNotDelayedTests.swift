import TestServer
import ServerSupport
import TestSupport
import Testing

@Suite(.inProcess) struct EventsAreNotDelayed {
  /// The upstream sends an event only after the client has read the event before.
  @Test(arguments: ["Transfer-Encoding: chunked\r\n", "Content-Length: 1100\r\n", ""])
  func `each event of a stream arrives before the next event is sent`(framing: String) throws {
    let gate = Gate()
    let stage = try Stage { connection in
      guard connection.head() != nil else { return }
      connection.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\(framing)\r\n")
      for number in 100..<200 {
        guard gate.pass() else { return }
        let event = "data: \(number)\n\n"
        connection.send(framing.hasPrefix("T") ? "\(String(event.utf8.count, radix: 16))\r\n\(event)\r\n" : event)
      }
      connection.send(framing.hasPrefix("T") ? "0\r\n\r\n" : "")
    }
    try stage.start()
    let client = try stage.raw()
    try client.send(stage.head("GET", fields: "Accept: text/event-stream\r\n"))
    let head = try client.head()
    #expect(head.contains("text/event-stream"))
    let isChunked = head.contains("chunked")
    #expect(isChunked == !framing.hasPrefix("C"))
    for number in 100..<200 {
      gate.open()
      if isChunked { #expect(try client.line() == "b") }
      #expect(try client.line(endingWith: "\n\n") == "data: \(number)\n\n")
      if isChunked { #expect(try client.line().isEmpty) }
    }
    if isChunked { #expect(try client.line() == "0") }
  }

  @Test func `each piece of a request arrives before the next piece is sent`() throws {
    let seen = Gate()
    let stage = try Stage { connection in
      guard var (_, bytes) = connection.head() else { return }
      for _ in 0..<50 {
        while !bytes.contains(UInt8(ascii: "!")) { bytes += (try? connection.read()) ?? Array("!".utf8) }
        bytes = []
        seen.open()
      }
      connection.respond("all")
    }
    try stage.start()
    let client = try stage.raw()
    try client.send(stage.head("POST", fields: "Transfer-Encoding: chunked\r\n"))
    for _ in 0..<50 {
      try client.send("2\r\nx!\r\n")
      #expect(seen.pass())
    }
    try client.send("0\r\n\r\n")
    #expect(try client.response().body == "all")
  }
}
