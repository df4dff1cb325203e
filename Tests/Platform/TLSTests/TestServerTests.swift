import TestServer
import Glibc
import TestSupport
import Testing

/// The server that other tests trust.
@Suite struct TestServerTests {
  @Test func `A plain server answers and records`() throws {
    var options = UpstreamServer.Options()
    options.isPlain = true
    let server = try UpstreamServer(
      chain: [], options: options,
      handler: UpstreamServer.recordingHTTP { request in Array("body \(request.body.count)".utf8) })
    let client = try connectedSocket(port: server.port)
    let requests =
      "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcPUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nxy\r\n0\r\n\r\n"
    send(client, requests, requests.utf8.count, 0)
    var answer: [UInt8] = []
    while answer.count < 12 { answer += receive(client) }
    #expect(String(decoding: answer, as: UTF8.self) == "body 3body 2")
    close(client)
    let records = server.finish()
    #expect(records.map(\.bytes) == [Array(requests.utf8)])
    #expect(records[0].isFinished)
  }

  @Test func `What waits in the backlog is served by finish, and stop cuts what does not end`() throws {
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
