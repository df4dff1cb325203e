import DemoUpstream
import Foundation
import TestSupport
import Testing

@Suite struct ConnectionLimits {
  @Test func `a connection above the limit waits until there is room`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(more: "limits: { connections: 3 }"))
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
    #expect(stage.daemon!.waitForLog("event=connection-limit connections=3"))
    for (leaving, client) in zip(first, waiting) {
      leaving.close()
      #expect(try client.answer().body == "hello")
    }
    stage.assertCanary(times: 26)
  }

  @Test func `T56: without descriptors the daemon neither spins nor dies, and serves again afterwards`() throws {
    let stage = try Stage()
    let daemon = try stage.start()
    #expect(try stage.get().status == 200)
    let limit = stage.observed.descriptors + 12
    #expect(try run(["prlimit", "--pid=\(daemon.pid)", "--nofile=\(limit):\(limit)"]).status == 0)

    let clients = try (0..<40).map { _ in try stage.raw() }
    for client in clients { try client.send(stage.head("GET")) }
    #expect(daemon.waitForLog("event=accept-failed"))
    let before = stage.observed.processorTime
    _ = eventually(seconds: 1) { false }
    #expect(stage.observed.processorTime - before < 0.3, "seconds of processor time in one second")
    #expect(daemon.logText.components(separatedBy: "event=accept-failed").count < 10)

    // Who has a connection is answered, or told that there is no way to the upstream; who leaves makes room for others.
    for client in clients {
      let status = try client.answer().head.dropFirst(9).prefix(3)
      #expect(status == "200" || status == "502")
      client.close()
    }
    #expect(try stage.get().status == 200)
    #expect(daemon.stop() == 0)
  }
}
