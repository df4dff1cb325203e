import TestServer
import ServerSupport
import TestSupport
import Testing

@Suite(.inProcess) struct PipeliningTests {
  @Test func `a thousand pipelined requests get their responses in order, over one session`() throws {
    let stage = try Stage(
      handler: UpstreamServer.httpHandler { request in
        Array("HTTP/1.1 200 OK\r\nContent-Length: \(request.path.utf8.count)\r\n\r\n\(request.path)".utf8)
      })
    try stage.start()
    let client = try stage.raw()
    try client.send((0..<1_000).map { try! stage.head("GET", "/api/\($0)") }.joined())
    for number in 0..<1_000 { #expect(try client.response().body == "/\(number)") }
    #expect(stage.upstream.records.count == 1)
  }

  @Test func `refusals and responses of the upstream keep their order`() throws {
    let stage = try Stage()
    try stage.start()
    let client = try stage.raw()
    let paths = (0..<300).map { $0 % 3 == 0 ? "/api/x" : "/nowhere" }
    try client.send(paths.map { try! stage.head("GET", $0) }.joined())
    for path in paths {
      let status = try client.response().head.dropFirst(9).prefix(3)
      #expect(status == (path == "/nowhere" ? "404" : "200"))
    }
  }

  @Test func `pipelined requests that a gate or a failed connection refuses get their refusals in order`() throws {
    let stage = try Stage()
    let service = "rate: 1/d"
    let down = "  down: { upstream: \"http://127.0.0.1:1/\", credential: none }\n"
    try stage.start(stage.configuration(service: service, services: down))
    let client = try stage.raw()
    let paths = (0..<1_000).map { $0 % 10 == 9 ? "/down/x" : "/api/x" }
    try client.send(paths.map { try! stage.head("GET", $0) }.joined())
    for (number, path) in paths.enumerated() {
      let status = try client.response().head.dropFirst(9).prefix(3)
      #expect(status == (number == 0 ? "200" : path == "/down/x" ? "502" : "429"), "\(number)")
    }
    #expect(stage.upstream.records.count == 1)
  }

  @Test func `a pipelined request after a timeout gets its response`() throws {
    let stage = try Stage { connection in
      while let (head, _) = connection.head() {
        if head.contains("/alive") { connection.respond("alive") }
      }
    }
    try stage.start(stage.configuration(service: "timeouts: { response_head: 200ms }"))
    let client = try stage.raw()
    try client.send(stage.head("GET", "/api/mute") + stage.head("GET", "/api/alive"))
    #expect(try client.response().head.hasPrefix("HTTP/1.1 504 "))
    #expect(try client.response().body == "alive")
  }
}
