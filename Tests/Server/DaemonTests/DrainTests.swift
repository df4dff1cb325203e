import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

@Suite(.inProcess) struct DrainTests {
  private func stage(arrived: Gate, goes: Gate) throws -> Stage {
    try Stage { connection in
      while let (head, _) = connection.head() {
        if head.contains("/begun") { connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no") }
        arrived.open()
        goes.pass()
        connection.send(head.contains("/begun") ? "k" : "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
      }
    }
  }

  /// `begun`: the head of the response was sent before the stop began.
  @Test(arguments: ["/api/waiting", "/api/begun"])
  func `a stop finishes the request in progress and accepts no new connection`(path: String) throws {
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

  @Test func `a second stop aborts the request in progress`() throws {
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

  @Test func `the drain timeout aborts requests that are still in progress`() throws {
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
