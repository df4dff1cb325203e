import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

@Suite(.waits) struct ConnectionLimits {
  @Test func `a connection above the limit waits until there is room`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(more: "limits: { connections: 3, connections_per_user: 3 }"))
    let first = try (0..<3).map { _ in try stage.raw() }
    for client in first {
      try client.send(stage.head("GET"))
      #expect(try client.answer().body == "hello")
    }
    let waiting = try (0..<3).map { _ in try stage.raw() }
    for client in waiting { try client.send(stage.head("GET")) }
    // The others are still served, and those that wait are not, in many turns of the loop.
    for _ in 0..<20 {
      try first[0].send(stage.head("GET"))
      #expect(try first[0].answer().body == "hello")
    }
    for client in waiting { #expect(client.readWithoutWaiting().isEmpty) }
    #expect(stage.log.wait(for: .connectionLimit, ["connections": 3]))
    for (leaving, client) in zip(first, waiting) {
      leaving.close()
      #expect(try client.answer().body == "hello")
    }
    stage.assertCanary(times: 26)
  }

  @Test(.enabled(if: Observed.isMemoryMeasurable, "a sanitizer keeps what was freed"))
  func `T56: the memory of a flood of connections goes back when it is over`() throws {
    let stage = try Stage()
    let daemon = try stage.start()
    #expect(try stage.get().status == 200)
    let before = stage.observed.resident
    // A head that has not ended, so that each connection keeps what it has sent so far.
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

  @Test func `T56: without descriptors the daemon neither spins nor dies, and serves again afterwards`() throws {
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

    // Who has a connection is answered, or told that there is no way to the upstream; who leaves makes room for others.
    for client in clients {
      let status = try client.answer().head.dropFirst(9).prefix(3)
      #expect(status == "200" || status == "502")
      client.close()
    }
    #expect(try stage.get().status == 200)
    #expect(daemon.stop() == 0)
    stage.assertCanary(times: stage.recorded.components(separatedBy: stage.canary).count - 1)
  }

  /// Connections get no more of them than leaves one for the upstream of each, and some for everything else.
  @Test(arguments: [32, 48, 64])
  func `T56: with few descriptors from the start everything works, for fewer at once`(limit: Int) throws {
    let stage = try Stage()
    let daemon = try stage.start(wrapper: ["/bin/sh", "-c", "ulimit -n \(limit); exec \"$@\"", "sh"])
    #expect(daemon.log.contains(.descriptorLimit, ["connections": .present]))
    let clients = try (0..<40).map { _ in try stage.raw() }
    for client in clients { try client.send(stage.head("GET")) }
    // Somebody is answered, and the rest waits or is told.
    #expect(eventually { stage.recorded.contains(stage.canary) })
    #expect(!stage.observed.spins())
    // The control socket and the files of secrets still have theirs.
    #expect(try stage.control("status").hasPrefix("ok\n"))
    try stage.reload(stage.configuration())
    #expect(daemon.log.contains(.reloaded, ["generation": 2]))
    var answered = 0
    for client in clients {
      let status = try client.answer().head.dropFirst(9).prefix(3)
      #expect(status == "200" || status == "429", "\(status)")
      if status == "200" { answered += 1 }
      client.close()
    }
    #expect(answered > 0)
    #expect(!daemon.log.contains(.acceptFailed) && !daemon.log.contains(.credentialUnavailable))
    #expect(try eventually { try stage.get().status == 200 })
    #expect(daemon.stop() == 0)
    stage.assertCanary(times: stage.recorded.components(separatedBy: stage.canary).count - 1)
  }

  @Test func `T56: workers for which there are no descriptors are no start`() throws {
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
