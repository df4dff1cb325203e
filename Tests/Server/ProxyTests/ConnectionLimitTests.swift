import Log
import ServerSupport
import StatusModel
import TestSupport
import Testing

@Suite(.inProcess) struct ConnectionLimitTests {
  @Test func `a connection above the limit waits until there is room`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(more: "limits: { connections: 3, connections_per_user: 3 }"))
    let first = try (0..<3).map { _ in try stage.raw() }
    for client in first {
      try client.send(stage.head("GET"))
      #expect(try client.response().body == "hello")
    }
    let waiting = try (0..<3).map { _ in try stage.raw() }
    for client in waiting { try client.send(stage.head("GET")) }
    // While the first connections are served, the waiting ones stay unserved.
    for _ in 0..<20 {
      try first[0].send(stage.head("GET"))
      #expect(try first[0].response().body == "hello")
    }
    for client in waiting { #expect(client.readWithoutWaiting().isEmpty) }
    #expect(stage.log.wait(for: .connectionLimit, ["connections": 3]))
    for (closing, client) in zip(first, waiting) {
      closing.close()
      #expect(try client.response().body == "hello")
    }
    stage.assertCanary(times: 26)
  }
}
