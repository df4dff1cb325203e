import TestServer
import ServerSupport
import TestSupport
import Testing

@Suite(.inProcess) struct IdleConnectionTests {
  @Test func `connections above the limit are reused during a busy time and then closed`() throws {
    let seen = Counter()
    // The upstream responds when three requests wait, so that three connections are needed.
    let stage = try Stage { connection in
      while connection.head() != nil {
        let wave = seen.add() / 3 + 1
        _ = eventually { seen.count >= wave * 3 }
        connection.respond("\(connection.number)")
      }
    }
    try stage.start(stage.configuration(more: "limits: { idle_per_identity: 1, upstream_idle: 8s }"))
    for _ in 1...3 {
      let clients = try (1...3).map { _ in try stage.raw() }
      for client in clients { try client.send(stage.head("GET")) }
      for client in clients { #expect(try client.response().head.hasPrefix("HTTP/1.1 200 ")) }
    }
    #expect(stage.upstream.records.count == 3)
    // One connection stays for upstream_idle, and the others for half that time.
    #expect(stage.upstream.wait { $0.filter(\.isFinished).count == 2 })
    #expect(stage.upstream.records.count { !$0.isFinished } == 1)
    stage.assertCanary(times: 9)
  }

  @Test func `idle_per_identity: 0 keeps no idle connection`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(more: "limits: { idle_per_identity: 0 }"))
    #expect(try stage.get().status == 200)
    #expect(stage.upstream.wait { $0.first?.isFinished == true })
    #expect(try stage.get().status == 200)
    #expect(stage.upstream.records.count == 2)
    stage.assertCanary(times: 2)
  }
}
