import DemoUpstream
import Glibc
import Testing

/// The server that other tests trust.
@Suite struct DemoUpstreamTests {
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

func connectedSocket(port: UInt16) throws -> Int32 {
  let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_port = port.bigEndian
  inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
  let status = withUnsafePointer(to: &address) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
    }
  }
  try #require(status == 0)
  var limit = timeval(tv_sec: 10, tv_usec: 0)
  setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
  return descriptor
}

func receive(_ descriptor: Int32) -> [UInt8] {
  var bytes = [UInt8](repeating: 0, count: 65_536)
  let count = recv(descriptor, &bytes, bytes.count, 0)
  return Array(bytes.prefix(max(0, count)))
}
