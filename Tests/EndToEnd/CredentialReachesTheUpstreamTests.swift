import TestServer
import ServerSupport
import TestSupport
import Testing

@Suite(.waits) struct CredentialReachesTheUpstream {
  @Test func `a request is sent with the credential that the program does not have`() throws {
    let stage = try Stage()
    try stage.start()
    let response = try stage.get("/api/user?page=2", fields: "Accept: */*\r\n")
    #expect(response.status == 200)
    #expect(response.text == "hello")
    let recorded = stage.recorded
    #expect(recorded.hasPrefix("GET /base/user?page=2 HTTP/1.1\r\nHost: localhost:\(stage.upstream.port)\r\n"))
    #expect(recorded.contains("Accept: */*\r\n"))
    stage.assertCanary(times: 1)
  }

  @Test func `the program's own credentials are replaced`() throws {
    let stage = try Stage()
    try stage.start()
    let fields = "Authorization: Bearer evil\r\nauthorization: Basic ZXZpbA==\r\nX_Api_Key: evil\r\nCookie: evil=1\r\n"
    #expect(try stage.get(fields: fields).status == 200)
    #expect(!stage.recorded.lowercased().contains("evil"))
    stage.assertCanary(times: 1)
  }

  @Test func `requests of one client connection use one upstream session`() throws {
    let stage = try Stage()
    try stage.start()
    let client = try stage.client()
    for index in 0..<20 {
      try client.send("GET /api/\(index) HTTP/1.1\r\nHost: localhost:\(stage.daemon!.port())\r\n\r\n")
      #expect(try client.response().text == "hello")
    }
    #expect(stage.upstream.records.count == 1)
    stage.assertCanary(times: 20)
  }

  @Test func `pipelined requests are answered in order`() throws {
    let stage = try Stage(
      handler: UpstreamServer.httpHandler { request in
        let path = String(decoding: request.head, as: UTF8.self).split(separator: " ")[1]
        return Array("HTTP/1.1 200 OK\r\nContent-Length: \(path.utf8.count)\r\n\r\n\(path)".utf8)
      })
    try stage.start()
    let client = try stage.client()
    let host = "Host: localhost:\(try stage.daemon!.port())\r\n\r\n"
    try client.send((0..<5).map { "GET /api/\($0) HTTP/1.1\r\n\(host)" }.joined())
    for index in 0..<5 { #expect(try client.response().text == "/base/\(index)") }
    stage.assertCanary(times: 5)
  }
}
