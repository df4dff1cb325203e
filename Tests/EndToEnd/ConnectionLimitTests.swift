import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

@Suite(.waits) struct ConnectionLimitTests {
  @Test(.enabled(if: Observed.isMemoryMeasurable, "a sanitizer keeps what was freed"))
  func `T56: the memory of many simultaneous connections is released when they close`() throws {
    let stage = try Stage()
    let daemon = try stage.start()
    #expect(try stage.get().status == 200)
    let before = stage.observed.resident
    // Incomplete heads, which bearerd buffers.
    let rest = "X-Rest: " + String(repeating: "x", count: 30_000)
    var clients = try (0..<600).map { _ in try stage.raw() }
    for client in clients { try client.send("GET /api/x HTTP/1.1\r\nHost: localhost\r\n" + rest) }
    #expect(eventually { stage.observed.resident > before + 15_000 })
    let flooded = stage.observed.resident
    for client in clients { client.close() }
    clients = []
    #expect(eventually(seconds: 20) { stage.observed.resident < before + (flooded - before) / 3 })
    #expect(try stage.get().status == 200)
    #expect(daemon.stop() == 0)
    stage.assertCanary(times: 2)
  }

  @Test func `T56: a daemon without free descriptors does not spin or exit, and serves again afterwards`() throws {
    let stage = try Stage()
    let daemon = try stage.start()
    #expect(try stage.get().status == 200)
    let limit = stage.observed.descriptors + 12
    #expect(try run(["prlimit", "--pid=\(daemon.pid)", "--nofile=\(limit):\(limit)"]).status == 0)

    let clients = try (0..<40).map { _ in try stage.raw() }
    for client in clients { try client.send(stage.head("GET")) }
    #expect(daemon.log.wait(for: .acceptFailed))
    #expect(!stage.observed.spins())
    #expect(daemon.log.lines(of: .acceptFailed).count < 9)

    // Each accepted connection gets the upstream's response or 502, and makes room when it closes.
    for client in clients {
      let status = try client.response().head.dropFirst(9).prefix(3)
      #expect(status == "200" || status == "502")
      client.close()
    }
    #expect(try stage.get().status == 200)
    #expect(daemon.stop() == 0)
    stage.assertCanary(times: stage.recorded.components(separatedBy: stage.canary).count - 1)
  }

  /// bearerd lowers the limit of connections, so that each has a descriptor for its upstream connection, and other
  /// tasks have some.
  @Test(arguments: [32, 48, 64])
  func `T56: a daemon that starts with few descriptors works, with fewer connections`(limit: Int) throws {
    let stage = try Stage()
    let daemon = try stage.start(wrapper: ["/bin/sh", "-c", "ulimit -n \(limit); exec \"$@\"", "sh"])
    #expect(daemon.log.contains(.descriptorLimit, ["connections": .present]))
    let clients = try (0..<40).map { _ in try stage.raw() }
    for client in clients { try client.send(stage.head("GET")) }
    // At least one request is sent, and the others wait or are refused.
    #expect(eventually { stage.recorded.contains(stage.canary) })
    #expect(!stage.observed.spins())
    // The control socket and secret files still have descriptors.
    #expect(try stage.control("status").hasPrefix("ok\n"))
    try stage.reload(stage.configuration())
    #expect(daemon.log.contains(.reloaded, ["generation": 2]))
    var served = 0
    for client in clients {
      let status = try client.response().head.dropFirst(9).prefix(3)
      #expect(status == "200" || status == "429", "\(status)")
      if status == "200" { served += 1 }
      client.close()
    }
    #expect(served > 0)
    #expect(!daemon.log.contains(.acceptFailed) && !daemon.log.contains(.credentialUnavailable))
    #expect(try eventually { try stage.get().status == 200 })
    #expect(daemon.stop() == 0)
    stage.assertCanary(times: stage.recorded.components(separatedBy: stage.canary).count - 1)
  }

  @Test func `T56: a daemon with too few descriptors for its workers does not start`() throws {
    let stage = try Stage()
    let file = try stage.scratch.write("bearerd.yaml", stage.configuration(more: "workers: 9"), mode: 0o600)
    let child = try run([
      "/bin/sh", "-c", "ulimit -n 64; exec \"$@\"", "sh", RunningDaemon.binary("bearerd"), "--config", file,
    ])
    #expect(child.status == 71, "\(child)")
    #expect(child.errors.contains("9 workers need ") && child.errors.contains("64: raise"), "\(child.errors)")
    stage.assertCanary(times: 0)
  }
}
