import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// All workers apply changes and exit together.
@Suite(.inProcess) struct WorkersChangeTogether {
  private func configuration(
    _ stage: Stage, workers: String = "2", credential: String? = nil, service: String = "", more: String = ""
  )
    -> String
  {
    stage.configuration(
      service: service, credential: credential ?? "bearer: { file: canary.token }",
      more: "control: control.sock\n\(more)\nworkers: \(workers)\n")
  }

  private func occurrences(of text: String, in whole: String) -> Int { whole.components(separatedBy: text).count - 1 }

  private func get(_ client: LocalClient, _ stage: Stage, _ path: String = "/api/x") throws -> LocalClient.Response {
    try client.send(stage.head("GET", path))
    return try client.response()
  }

  @Test func `T47: after a reload has returned, all workers use the new configuration`() throws {
    let stage = try Stage()
    try stage.start(configuration(stage, workers: "4"))
    let clients = try (0..<8).map { _ in try stage.client() }
    for number in 1...10 {
      let rules = number % 2 == 1 ? "rules: [{ match: \"/**\", deny: true }]" : ""
      try stage.scratch.write("bearerd.yaml", configuration(stage, workers: "4", service: rules), mode: 0o644)
      #expect(try stage.control("reload") == "ok\n\(number + 1)\n")
      for client in clients { #expect(try get(client, stage).status == (number % 2 == 1 ? 403 : 200)) }
    }
    #expect(stage.log.lines(of: .reloaded).count == 10)
    stage.assertCanary(times: 40)
  }

  @Test func `a configuration that one worker cannot use is used by no worker`() throws {
    let stage = try Stage()
    try stage.start(configuration(stage))
    let clients = try (0..<4).map { _ in try stage.client() }
    try stage.scratch.write("bearerd.yaml", "services: {", mode: 0o644)
    #expect(try stage.control("reload").hasPrefix("error\n"))
    // The error occurs after all workers have prepared their credentials.
    let squatter = try #require(Squatting(.loopback4, port: 0))
    let taken = configuration(stage, more: "").replacing("localhost:0", with: "127.0.0.1:\(squatter.port)")
    try stage.scratch.write("bearerd.yaml", taken, mode: 0o644)
    #expect(try stage.control("reload").contains("EADDRINUSE"))
    for client in clients { #expect(try get(client, stage).status == 200) }
    try stage.scratch.write("canary.token", "AFTERWARDS")
    for client in clients { #expect(try get(client, stage).status == 200) }
    #expect(occurrences(of: "Bearer AFTERWARDS\r\n", in: stage.recorded) == 4)
    stage.assertCanary(times: 4)
  }

  @Test func `a reload with another number of workers is refused, because it needs a restart`() throws {
    let stage = try Stage()
    try stage.start(configuration(stage))
    try stage.scratch.write("bearerd.yaml", configuration(stage, workers: "3"), mode: 0o644)
    let response = try stage.control("reload")
    #expect(response == "error\nworkers: the file has 3, but 2 run. Restart bearerd for this change\n")
    #expect(try stage.get().status == 200)
    stage.assertCanary(times: 1)
  }

  @Test func `T42: a program runs once for all workers, and its value expires at all workers`() throws {
    let stage = try Stage()
    let script = """
      #!/bin/sh
      echo run >> \(stage.scratch.path)/runs
      test -e \(stage.scratch.path)/broken && exit 1
      echo PRINTED-secret
      """
    let file = try stage.scratch.write("helper", script, mode: 0o700)
    try stage.start(configuration(stage, credential: "bearer: { command: [\(file)], ttl: 3s }"))
    let clients = try (0..<4).map { _ in try stage.client() }
    // All requests arrive before the program has ended.
    for client in clients { try client.send(stage.head("GET")) }
    for client in clients { #expect(try client.response().status == 200) }
    let runs = try String(contentsOfFile: stage.scratch.path + "/runs", encoding: .utf8)
    #expect(runs == "run\n")
    try stage.scratch.write("broken", "")
    #expect(
      try eventually(seconds: 20) { try clients.allSatisfy { try get($0, stage).status == 503 } }, "its time is over")
    stage.assertCanary(times: 0)
  }

  @Test func `after a stop, the requests of all workers finish, and the daemon exits with 0`() throws {
    let (arrived, goes) = (Gate(), Gate())
    let stage = try Stage { connection in
      while connection.head() != nil {
        arrived.open()
        goes.pass(seconds: 30)
        connection.respond("ok")
      }
    }
    let daemon = try stage.start(configuration(stage, workers: "3"))
    let clients = try (0..<6).map { _ in try stage.client() }
    for client in clients { try client.send(stage.head("GET")) }
    for _ in clients { #expect(arrived.pass()) }
    let port = try daemon.port()
    daemon.beginStop()
    #expect(daemon.log.wait(for: .stopping, ["connections": 6]))
    #expect(eventually { (try? RawClient(port: port)) == nil })
    #expect(daemon.isRunning)
    goes.open(times: 6)
    for client in clients { #expect(try client.response().text == "ok") }
    #expect(daemon.waitForExit() == 0)
    #expect(daemon.log.contains(.stopped, ["cut": 0]))
    stage.assertCanary(times: 6)
  }

  @Test func `the end of the drain cuts the requests of all workers`() throws {
    let (arrived, goes) = (Gate(), Gate())
    let stage = try Stage { connection in
      while connection.head() != nil {
        arrived.open()
        goes.pass(seconds: 30)
      }
    }
    let daemon = try stage.start(configuration(stage, workers: "3", more: "limits: { drain: 400ms }"))
    let clients = try (0..<3).map { _ in try stage.raw() }
    for client in clients { try client.send(stage.head("GET")) }
    for _ in clients { #expect(arrived.pass()) }
    #expect(daemon.stop() == 0)
    #expect(daemon.log.contains(.stopped, ["cut": 3]))
    for client in clients { #expect(client.rest().ending == .reset) }
    goes.open(times: 3)
  }
}
