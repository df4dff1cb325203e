import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

@Suite(.inProcess) struct Drain {
  private func stage(arrived: Gate, goes: Gate) throws -> Stage {
    try Stage { connection in
      while let (head, _) = connection.head() {
        if head.contains("/begun") { connection.say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no") }
        arrived.open()
        goes.pass()
        connection.say(head.contains("/begun") ? "k" : "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
      }
    }
  }

  /// `begun`: the head of the answer went out before the end was announced.
  @Test(arguments: ["/api/waiting", "/api/begun"])
  func `a stop lets a running exchange finish, and takes no new connection`(path: String) throws {
    let (arrived, goes) = (Gate(), Gate())
    let stage = try stage(arrived: arrived, goes: goes)
    let daemon = try stage.start()
    let idle = try stage.raw()
    let running = try stage.raw()
    try running.send(stage.head("GET", path))
    #expect(arrived.pass())
    if path == "/api/begun" { _ = try running.head() }
    let port = try daemon.port()

    daemon.beginStop()
    #expect(idle.rest() == ([], .clean))
    #expect(eventually { (try? RawClient(port: port)) == nil })
    #expect(daemon.isRunning)
    goes.open()
    if path != "/api/begun" { #expect(try running.head().contains("Connection: close\r\n")) }
    #expect(running.rest() == (Array("ok".utf8), .clean))
    running.close()
    #expect(daemon.stop() == 0)
    #expect(daemon.log.contains(.stopped, ["cut": 0]))
    stage.assertCanary(times: 1)
  }

  @Test func `a second one ends at once`() throws {
    let (arrived, goes) = (Gate(), Gate())
    let stage = try stage(arrived: arrived, goes: goes)
    let daemon = try stage.start()
    let running = try stage.raw()
    try running.send(stage.head("GET"))
    #expect(arrived.pass())
    daemon.beginStop()
    #expect(daemon.log.wait(for: .stopping))
    let time = seconds { #expect(daemon.stop() == 0) }
    #expect(time < 20)
    #expect(running.rest() == ([], .reset))
    #expect(daemon.log.contains(.request, ["aborted": "true"]))
    goes.open()
  }

  @Test func `the deadline of a drain cuts what still runs`() throws {
    let (arrived, goes) = (Gate(), Gate())
    let stage = try stage(arrived: arrived, goes: goes)
    let daemon = try stage.start(stage.configuration(more: "limits: { drain: 400ms }"))
    let running = try stage.raw()
    try running.send(stage.head("GET"))
    #expect(arrived.pass())
    let time = seconds { #expect(daemon.stop() == 0) }
    #expect(time > 0.3 && time < 20, "\(time) s")
    #expect(daemon.log.contains(.stopped, ["cut": 1]))
    #expect(running.rest().ending == .reset)
    goes.open()
  }
}
