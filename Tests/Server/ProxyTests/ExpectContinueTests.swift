import TestServer
import ServerSupport
import TestSupport
import Testing

@Suite(.inProcess) struct ExpectContinueTests {
  static let fields = "Expect: 100-continue\r\nContent-Length: 4\r\n"

  @Test func `the upstream's 100 Continue arrives before the body is sent`() throws {
    let stage = try Stage { connection in
      while let (head, rest) = connection.head() {
        guard head.contains("Expect: 100-continue\r\n"), rest.isEmpty else { return }
        connection.send("HTTP/1.1 100 Continue\r\n\r\n")
        let body = (try? connection.read()) ?? []
        connection.respond(String(decoding: body, as: UTF8.self))
      }
    }
    try stage.start()
    let client = try stage.raw()
    for _ in 0..<2 {
      try client.send(stage.head("PUT", fields: Self.fields))
      #expect(try client.head().hasPrefix("HTTP/1.1 100 "))
      try client.send("body")
      #expect(try client.response().body == "body")
    }
    #expect(stage.upstream.records.count == 1)
    stage.assertCanary(times: 2)
  }

  @Test func `T17: a final response instead of 100 Continue closes the connection and its session`() throws {
    let stage = try Stage { connection in
      while let (head, _) = connection.head() {
        connection.respond(
          head.contains("Expect:") ? "no" : "alive", status: head.contains("Expect:") ? "417 No" : "200 OK")
      }
    }
    try stage.start()
    let client = try stage.raw()
    try client.send(stage.head("PUT", fields: Self.fields))
    let response = try client.response()
    #expect(response.head.hasPrefix("HTTP/1.1 417 "))
    #expect(response.head.contains("Connection: close\r\n"))
    #expect(response.body == "no")
    // The body that the upstream refused, and bytes that look like a request.
    try? client.send("body" + stage.head("GET", "/api/smuggled"))
    client.shutdownSending()
    #expect(client.rest() == ([], .clean))
    #expect(try stage.isAlive())
    #expect(stage.upstream.records.count == 2)
    #expect(!stage.recorded.contains("smuggled"))
    stage.assertCanary(times: 2)
  }

  @Test func `an HTTP/1.0 client gets no interim response`() throws {
    let stage = try Stage { connection in
      guard let (_, rest) = connection.head() else { return }
      connection.send("HTTP/1.1 100 Continue\r\n\r\n")
      var body = rest
      while body.count < 4 { body += (try? connection.read()) ?? [0, 0, 0, 0] }
      connection.respond(String(decoding: body, as: UTF8.self))
    }
    try stage.start()
    let client = try stage.raw()
    try client.send(stage.head("PUT", fields: Self.fields, version: "1.0") + "body")
    let response = try client.response()
    #expect(response.head.hasPrefix("HTTP/1.1 200 "))
    #expect(response.body == "body")
  }

  @Test func `early hints are forwarded to HTTP/1.1 clients only`() throws {
    let stage = try Stage { connection in
      while connection.head() != nil {
        connection.send("HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\nSet-Cookie: a=b\r\n\r\n")
        connection.respond("x")
      }
    }
    try stage.start()
    let client = try stage.raw()
    try client.send(stage.head("GET"))
    let hints = try client.head()
    #expect(hints.hasPrefix("HTTP/1.1 103 Early Hints\r\nLink: "))
    #expect(!hints.contains("Set-Cookie"))
    #expect(try client.response().body == "x")
    let old = try stage.raw()
    try old.send(stage.head("GET", version: "1.0"))
    #expect(try old.response().head.hasPrefix("HTTP/1.1 200 "))
  }
}
