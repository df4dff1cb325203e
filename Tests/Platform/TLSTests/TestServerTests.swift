import TestServer
import Glibc
import TestSupport
import Testing

@Suite struct TestServerTests {
  @Test func `a plain test server responds and records requests`() throws {
    var options = UpstreamServer.Options()
    options.isPlain = true
    let server = try UpstreamServer(
      chain: [], options: options,
      handler: UpstreamServer.httpHandler { request in Array("body \(request.body.count)".utf8) })
    let client = try connectedSocket(port: server.port)
    let requests =
      "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcPUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nxy\r\n0\r\n\r\n"
    send(client, requests, requests.utf8.count, 0)
    var response: [UInt8] = []
    while response.count < 12 { response += receive(client) }
    #expect(String(decoding: response, as: UTF8.self) == "body 3body 2")
    close(client)
    let records = server.finish()
    #expect(records.map(\.bytes) == [Array(requests.utf8)])
    #expect(records[0].isFinished)
  }

  @Test func `finish serves pending connections, and stop closes open connections`() throws {
    var options = UpstreamServer.Options()
    options.isPlain = true
    for isCut in [false, true] {
      let server = try UpstreamServer(chain: [], options: options) { _ in }
      let clients = try (0..<20).map { _ in try connectedSocket(port: server.port) }
      for client in clients { send(client, "x", 1, Int32(MSG_NOSIGNAL)) }
      if isCut {
        server.stop()
        server.stop()
      } else {
        for client in clients { close(client) }
        server.finish()
      }
      #expect(server.records.count == 20)
      #expect(server.records.allSatisfy { $0.bytes == [120] && $0.isFinished })
      if isCut { for client in clients { close(client) } }
    }
  }
}
