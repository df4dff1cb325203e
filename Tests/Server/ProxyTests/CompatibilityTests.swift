import TestServer
import Log
import ServerSupport
import TestSupport
import Testing

/// Ordinary servers and programs work as they do without bearerd.
@Suite(.inProcess) struct CompatibilityTests {
  @Test func `a response without close_notify is complete if its framing says so`() throws {
    let stage = try Stage { connection in
      guard let (head, _) = connection.head() else { return }
      if head.contains("/chunked") {
        connection.send(
          "HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nwhole\r\n0\r\n\r\n")
      } else if head.contains("/length") {
        connection.respond("whole", fields: "Connection: close\r\n")
      } else {
        connection.send("HTTP/1.1 200 OK\r\n\r\nhalf")
      }
      connection.closeWithoutNotify()
    }
    try stage.start()
    for path in ["/api/chunked", "/api/length", "/api/chunked", "/api/length"] {
      #expect(try stage.get(path).text == "whole")
    }
    // Without framing the response is aborted, because its end may be missing.
    let client = try stage.raw()
    try client.send(stage.head("GET", "/api/until-close"))
    #expect(client.rest().ending == .reset)
    stage.assertCanary(times: 5)
  }

  @Test func `a POST without a length has no body`() throws {
    let stage = try Stage { connection in
      while let request = try? connection.readRequest() { connection.respond("\(request.body.count) bytes") }
    }
    try stage.start()
    let client = try stage.raw()
    for _ in 0..<2 {
      try client.send(stage.head("POST"))
      #expect(try client.response().body == "0 bytes")
    }
    stage.assertCanary(times: 2)
  }

  @Test(arguments: ["h2,h2c", "h2", "TLS/1.2, HTTP/2.0"])
  func `an upgrade offer in an ordinary response is ignored`(offer: String) throws {
    let stage = try Stage { connection in
      while connection.head() != nil {
        connection.respond("plain", fields: "Upgrade: \(offer)\r\nConnection: Upgrade, Keep-Alive\r\n")
      }
    }
    try stage.start()
    for _ in 0..<2 {
      let response = try stage.get()
      #expect(response.status == 200 && response.text == "plain" && response.values("Upgrade").isEmpty)
    }
    #expect(stage.upstream.records.count == 1, "the connection goes on")
  }

  @Test func `bearerd replaces a tool's placeholder key`() throws {
    let stage = try Stage()
    try stage.start()
    for field in ["Authorization: Bearer sk-placeholder", "X-Api-Key: none", "Authorization: Basic eDp5"] {
      #expect(try stage.get(fields: field + "\r\n").status == 200)
    }
    #expect(!stage.recorded.contains("placeholder") && !stage.recorded.contains("eDp5"))
    stage.assertCanary(times: 3)
  }

  @Test func `HEAD lengths, ranges, 404 and 410 are forwarded unchanged`() throws {
    let stage = try Stage { connection in
      while let request = try? connection.readRequest() {
        switch request.path {
        case "/head": connection.send("HTTP/1.1 200 OK\r\nContent-Length: 12345\r\nAccept-Ranges: bytes\r\n\r\n")
        case "/range":
          let isAsked = request.text.contains("\r\nRange: bytes=2-4\r\n")
          connection.respond(
            isAsked ? "cde" : "abcdef", status: isAsked ? "206 Partial Content" : "200 OK",
            fields: isAsked ? "Content-Range: bytes 2-4/6\r\n" : "")
        case "/gone": connection.respond("gone", status: "410 Gone")
        default: connection.respond("no such module", status: "404 Not Found")
        }
      }
    }
    try stage.start()
    let client = try stage.raw()
    try client.send(stage.head("HEAD", "/api/head"))
    let head = try client.head()
    #expect(head.contains("Content-Length: 12345\r\n") && head.contains("Accept-Ranges: bytes\r\n"))
    try client.send(stage.head("GET", "/api/range", fields: "Range: bytes=2-4\r\n"))
    let part = try client.response()
    #expect(part.head.hasPrefix("HTTP/1.1 206 ") && part.head.contains("Content-Range: bytes 2-4/6\r\n"))
    #expect(part.body == "cde")
    for (path, status, text) in [("/api/gone", 410, "gone"), ("/api/m/@v/list", 404, "no such module")] {
      let response = try stage.get(path)
      #expect(response.status == status && response.text == text)
      #expect(response.values("Proxy-Status").isEmpty, "nobody but the upstream said so")
    }
  }

  @Test func `compressed event streams are forwarded unchanged, and DELETE ends a session`() throws {
    let event: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 1, 2, 3]
    let more = Gate()
    let stage = try Stage { connection in
      while let request = try? connection.readRequest() {
        if request.text.hasPrefix("DELETE ") {
          connection.send("HTTP/1.1 204 No Content\r\n\r\n")
          continue
        }
        connection.send(
          "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\nMcp-Session-Id: s\r\n"
            + "Transfer-Encoding: chunked\r\n\r\n")
        for _ in 0..<3 {
          connection.send("d\r\n")
          try? connection.write(event)
          connection.send("\r\n")
          guard more.pass() else { return }
        }
        connection.send("0\r\n\r\n")
      }
    }
    try stage.start()
    let client = try stage.raw()
    try client.send(stage.head("GET", fields: "Accept: text/event-stream\r\nAccept-Encoding: gzip\r\n"))
    let head = try client.head()
    #expect(head.contains("Content-Encoding: gzip\r\n") && head.contains("Mcp-Session-Id: s\r\n"))
    for _ in 0..<3 {
      #expect(try client.line() == "d")
      #expect(try client.exactly(event.count) == event)
      #expect(try client.line().isEmpty)
      more.open()
    }
    #expect(try client.line() == "0")
    #expect(try client.line().isEmpty)
    try client.send(stage.head("DELETE", fields: "Mcp-Session-Id: s\r\n"))
    #expect(try client.head().hasPrefix("HTTP/1.1 204 "))
    #expect(stage.recorded.contains("Mcp-Session-Id: s\r\n"))
    stage.assertCanary(times: 2)
  }
}
