import ServerSupport
import TestServer
import TestSupport
import Testing

@Suite(.waits) struct CredentialReachesTheUpstream {
  @Test func `requests of one connection are sent with the credential that the program does not have`() throws {
    let stage = try Stage()
    try stage.start()
    let client = try stage.client()
    try client.send(stage.head("GET", "/api/user?page=2", fields: "Accept: */*\r\n"))
    let response = try client.response()
    #expect(response.status == 200 && response.text == "hello")
    let recorded = stage.recorded
    #expect(recorded.hasPrefix("GET /base/user?page=2 HTTP/1.1\r\nHost: localhost:\(stage.upstream.port)\r\n"))
    #expect(recorded.contains("Accept: */*\r\n"))
    // The program's own credentials are replaced.
    let fields = "Authorization: Bearer evil\r\nauthorization: Basic ZXZpbA==\r\nX_Api_Key: evil\r\nCookie: evil=1\r\n"
    for _ in 0..<20 {
      try client.send(stage.head("GET", fields: fields))
      #expect(try client.response().status == 200)
    }
    #expect(!stage.recorded.lowercased().contains("evil"))
    // All requests use one upstream connection.
    #expect(stage.upstream.records.count == 1)
    stage.assertCanary(times: 21)
  }
}
