import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// Upstreams that send more, less or other bytes than one response to a request (T26).
@Suite(.inProcess) struct DesyncIsContained {
  /// Starts a stage whose upstream sends `response` for `/x` and stays open, and responds to other paths with `alive`.
  private func stage(_ response: String, closes: Bool = false) throws -> Stage {
    let stage = try Stage { connection in
      while let (head, _) = connection.head() {
        if head.contains("/alive") {
          connection.respond("alive")
        } else {
          connection.send(response)
          if closes { return }
        }
      }
    }
    try stage.start()
    return stage
  }

  static let surplus = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"

  @Test(
    arguments: [
      "HTTP/1.1 200 OK\r\nContent-Length: 44\r\n\r\n" + surplus,
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    ])
  func `bytes after a response to HEAD reach no other request`(response: String) throws {
    let stage = try stage(response)
    let client = try stage.raw()
    try client.send(stage.head("HEAD"))
    #expect(try client.head().hasPrefix("HTTP/1.1 200 "))
    // The same client connection, but another upstream connection.
    try client.send(stage.head("GET", "/api/alive"))
    #expect(try client.response().body == "alive")
    #expect(stage.upstream.records.count == 2)
    stage.assertCanary(times: 2)
  }

  @Test(
    arguments: [
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nok",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\nzz\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nok",
    ])
  func `a truncated response does not look complete`(response: String) throws {
    let stage = try stage(response, closes: true)
    let client = try stage.raw()
    try client.send(stage.head("GET"))
    let (bytes, ending) = client.rest()
    #expect(ending == .reset)
    #expect(!String(decoding: bytes, as: UTF8.self).hasSuffix("0\r\n\r\n"))
    #expect(stage.log.wait(for: .request, ["aborted": "true"]))
    #expect(try stage.isAlive())
  }

  @Test(arguments: ["1.0", "1.1"], [true, false])
  func `a body until close is complete only after close_notify`(version: String, notifies: Bool)
    throws
  {
    let stage = try Stage { connection in
      while let (head, _) = connection.head() {
        if head.contains("/alive") {
          connection.respond("alive")
        } else {
          connection.send("HTTP/1.1 200 OK\r\n\r\nsome bytes")
          if notifies { connection.close() } else { connection.closeWithoutNotify() }
          return
        }
      }
    }
    try stage.start()
    let client = try stage.raw()
    try client.send(stage.head("GET", version: version))
    if version == "1.1", notifies {
      _ = try client.head()
      var body: [UInt8] = []
      try client.chunks { body += $0 }
      #expect(body == Array("some bytes".utf8))
    } else {
      let (bytes, ending) = client.rest()
      #expect(ending == (notifies ? .clean : .reset))
      let text = String(decoding: bytes, as: UTF8.self)
      if notifies { #expect(text.hasSuffix("\r\n\r\nsome bytes")) } else { #expect(!text.hasSuffix("0\r\n\r\n")) }
    }
    #expect(try stage.isAlive())
  }

  @Test func `bytes on an idle connection close the connection`() throws {
    let speaks = Gate()
    let stage = try Stage { connection in
      while let (head, _) = connection.head() {
        connection.respond(head.contains("/alive") ? "alive" : "ok")
        if connection.number == 0 {
          speaks.pass()
          connection.send(Self.surplus)
        }
      }
    }
    try stage.start()
    let client = try stage.raw()
    try client.send(stage.head("GET"))
    #expect(try client.response().body == "ok")
    speaks.open()
    #expect(stage.upstream.wait { $0.first?.isFinished == true })
    try client.send(stage.head("GET", "/api/alive"))
    #expect(try client.response().body == "alive")
    #expect(stage.upstream.records.count == 2)
  }
}
