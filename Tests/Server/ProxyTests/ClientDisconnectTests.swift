import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

@Suite(.inProcess) struct ClientDisconnectTests {
  @Test(arguments: [false, true])
  func `a client that has closed its sending side gets its response`(isUnix: Bool) throws {
    let goes = Gate()
    let arrived = Gate()
    let stage = try Stage { connection in
      while connection.head() != nil {
        arrived.open()
        goes.pass()
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfirst")
        goes.pass()
        connection.send("later")
      }
    }
    let path = stage.scratch.path + "/app.sock"
    try stage.start(stage.configuration(listener: isUnix ? "address: unix:\(path)" : "address: localhost:0"))
    for shutsLate in [false, true] {
      let client = try isUnix ? RawClient(unix: path) : stage.raw()
      let host = isUnix ? "any" : "localhost:\(try stage.daemon!.port())"
      try client.send("GET /api/x HTTP/1.1\r\nHost: \(host)\r\n\r\n")
      if !shutsLate { client.shutdownSending() }
      #expect(arrived.pass())
      goes.open()
      let head = try client.head()
      #expect(head.hasPrefix("HTTP/1.1 200 "))
      #expect(try client.exactly(5) == Array("first".utf8))
      // Also after the client has received the head of the response.
      if shutsLate { client.shutdownSending() }
      goes.open()
      #expect(try client.exactly(5) == Array("later".utf8))
      client.setTimeout(seconds: 20)
      #expect(client.rest() == ([], .clean))
    }
  }

  @Test func `a client that has closed its sending side gets the responses to all pipelined requests`() throws {
    let stage = try Stage()
    try stage.start()
    let client = try stage.raw()
    try client.send(String(repeating: try stage.head("GET"), count: 5))
    client.shutdownSending()
    for _ in 0..<5 { #expect(try client.response().body == "hello") }
    #expect(client.rest() == ([], .clean))
  }

  @Test(arguments: [false, true], [false, true])
  func `the upstream connection ends when the client disconnects, and the log has one line`(
    isUnix: Bool, resets: Bool
  ) throws {
    let arrived = Gate()
    let gone = Gate()
    let stage = try Stage { connection in
      guard connection.head() != nil else { return }
      arrived.open()
      // The upstream does not write, so only bearerd can end the connection.
      while let more = try? connection.read(), !more.isEmpty {}
      gone.open()
    }
    let path = stage.scratch.path + "/app.sock"
    try stage.start(stage.configuration(listener: isUnix ? "address: unix:\(path)" : "address: localhost:0"))
    let client = try isUnix ? RawClient(unix: path) : stage.raw()
    try client.send("GET /api/x HTTP/1.1\r\nHost: \(isUnix ? "any" : "localhost:\(try stage.daemon!.port())")\r\n\r\n")
    #expect(arrived.pass())
    if resets { client.reset() } else { client.close() }
    #expect(gone.pass(seconds: 20))
    #expect(stage.log.wait(for: .request, ["aborted": "true"]))
    #expect(stage.daemon!.stop() == 0)
    #expect(stage.log.lines(of: .request).count == 1)
  }

  @Test func `the upstream connection ends when the client disconnects during a response`() throws {
    let gone = Gate()
    let stage = try Stage { connection in
      guard connection.head() != nil else { return }
      connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
      while (try? connection.write(Pattern.chunk(Pattern.bytes(at: 0, count: 65_536)))) != nil {}
      gone.open()
    }
    try stage.start()
    let client = try stage.raw()
    try client.send(stage.head("GET"))
    _ = try client.exactly(100_000)
    client.close()
    #expect(gone.pass(seconds: 20))
    #expect(stage.log.wait(for: .request, ["aborted": "true"]))
  }
}
