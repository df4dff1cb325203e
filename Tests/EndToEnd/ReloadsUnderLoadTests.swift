import TestServer
import Foundation
import Log
import Synchronization
import ServerSupport
import TestSupport
import Testing

/// Whole configurations and secrets change while programs ask on: no request fails, no host ever gets what is another's
/// (T47), and nothing is left behind.
@Suite(.waits) struct ReloadsUnderLoad {
  /// Two hosts. In every generation services and credentials change places: `a` leads to the other one, with a credential of
  /// another name, and the base path says which generation it was.
  private final class Places {
    let stage: Stage
    let other: UpstreamServer

    private let workers: Int

    init(workers: Int = 1) throws {
      self.workers = workers
      stage = try Stage(handler: Self.host(0))
      other = try UpstreamServer(chain: [stage.leaf], handler: Self.host(1))
      for host in 0...1 { try rotate(host, to: 0) }
    }

    deinit { other.stop() }

    /// Answers with what it got: `host token path length`. Ends each connection soon, so that at any time some requests wait
    /// for another.
    private static func host(_ number: Int) -> @Sendable (UpstreamConnection) -> Void {
      { connection in
        for isLast in [false, true] {
          guard let request = try? connection.readRequest() else { return }
          let words = request.text.split(whereSeparator: { $0 == " " || $0 == "\r\n" })
          let token = words.firstIndex(of: "Authorization:").map { words[$0 + 2] } ?? "none"
          connection.answer(
            "\(number) \(token) \(words[1]) \(request.body.count)", fields: isLast ? "Connection: close\r\n" : "")
        }
      }
    }

    func rotate(_ host: Int, to number: Int) throws {
      try stage.scratch.write("host\(host).token", "HOST\(host)-\(number)")
    }

    func configuration(_ generation: Int) -> String {
      let origins = [stage.origin, "https://localhost:\(other.port)"]
      func lines(_ index: Int) -> (credential: String, service: String) {
        let (name, host) = (["one", "two"][index], (index + generation) % 2)
        return (
          "  \(name): { origins: [\"\(origins[host])\"], bearer: { file: host\(host).token } }",
          """
            \(["a", "b"][index]): { upstream: "\(origins[host])/\(generation)/\(["a", "b"][index])/", ca_file: ca.pem, \
          pins: [\(stage.leaf.pin), \(stage.backup.pin)], credential: \(name) }
          """
        )
      }
      return """
        listeners: { main: { address: localhost:0, allow_users: [\(getuid())] } }
        credentials:
        \(lines(0).credential)
        \(lines(1).credential)
        services:
        \(lines(0).service)
        \(lines(1).service)
          stranger: { upstream: "\(stage.origin)/", credential: none }
        workers: \(workers)
        """
    }

    /// A request by `a` or `b`, some with a body; nil, or what is wrong with the answer.
    static func ask(_ client: RawClient, _ number: Int, port: UInt16) throws -> String? {
      let service = ["a", "b"][(number / 3) % 2]
      let body = number % 5 == 0 ? 40_000 : 0
      try client.send(
        "\(body == 0 ? "GET" : "PUT") /\(service)/\(number) HTTP/1.1\r\nHost: localhost:\(port)\r\nContent-Length: \(body)\r\n\r\n"
      )
      try client.send([UInt8](repeating: 120, count: body))
      let answer = try client.answer()
      guard answer.head.hasPrefix("HTTP/1.1 200 ") else { return answer.head }
      return isRight(answer.body, service: service, number: number, bytes: body) ? nil : answer.body
    }

    /// The host, its token, and the path of one and the same generation.
    private static func isRight(_ answer: String, service: String, number: Int, bytes: Int) -> Bool {
      let words = answer.split(separator: " ")
      let path = words.count == 4 ? words[2].split(separator: "/") : []
      guard path.count == 3, let generation = Int(path[0]) else { return false }
      let host = ((service == "a" ? 0 : 1) + generation) % 2
      return words[0] == "\(host)" && words[1].hasPrefix("HOST\(host)-") && path[1] == service && path[2] == "\(number)"
        && words[3] == "\(bytes)"
    }

    /// What each host was sent, as it recorded it: none of the other's tokens, and no path of a generation in which the
    /// service was elsewhere.
    func check() {
      for (host, upstream) in [stage.upstream, other].enumerated() {
        for record in upstream.records {
          let text = String(decoding: record.bytes, as: UTF8.self)
          #expect(!text.contains("HOST\(1 - host)-"), "host \(host) got the other's token")
          for match in text.matches(of: /(?:GET|PUT) \/(\d+)\/(a|b)\//) {
            #expect(((match.2 == "a" ? 0 : 1) + Int(match.1)!) % 2 == host)
          }
        }
      }
    }
  }

  @Test(arguments: [1, 2])
  func `T47: 20 reloads and 40 rotations fail no request and mix no pair of host and credential`(workers: Int) throws {
    let places = try Places(workers: workers)
    let stage = places.stage
    try stage.start(places.configuration(0))
    let port = try stage.daemon!.port()
    let load = SteadyLoad(callers: 6, port: port) { client, number in
      try Places.ask(client, number, port: port)
    }
    // The thread sanitizer makes a program a hundred times as slow, and the load does not wait.
    let reloads = isSanitized ? 4 : 20
    for generation in 1...reloads {
      try load.goOn(by: 20)
      try stage.reload(places.configuration(generation))
      for host in 0...1 {
        try load.goOn(by: 5)
        try places.rotate(host, to: generation)
        // What is asked from now on gets the new one, soon: the directory is watched.
        let path = ["a", "b"][(host + generation) % 2]
        // Under a sanitizer a connection of the round before may have been idle for too long.
        let client = try stage.raw()
        #expect(
          try eventually {
            try client.send(stage.head("GET", "/\(path)/x"))
            return try client.answer().body == "\(host) HOST\(host)-\(generation) /\(generation)/\(path)/x 0"
          })
      }
    }
    #expect(load.stop() == [])
    #expect(load.answered.count > reloads * 25)
    #expect(stage.log.lines(of: .reloaded).count == reloads)
    places.check()
    stage.assertCanary(times: 0)
  }

  @Test(arguments: [1, 2])
  func `T47: a hundred reloads, one after the other, mix no pair either`(workers: Int) throws {
    let places = try Places(workers: workers)
    let stage = places.stage
    try stage.start(places.configuration(0) + "\ncontrol: control.sock\n")
    let port = try stage.daemon!.port()
    let load = SteadyLoad(callers: 6, port: port) { client, number in
      try Places.ask(client, number, port: port)
    }
    for generation in 1...100 {
      try stage.scratch.write(
        "bearerd.yaml", Stage.withWorkers(places.configuration(generation)) + "\ncontrol: control.sock\n", mode: 0o644)
      #expect(try stage.control("reload") == "ok\n\(generation + 1)\n")
    }
    try load.goOn(by: 20)
    #expect(load.stop() == [])
    places.check()
    stage.assertCanary(times: 0)
  }

  /// Each service loses something else of what let its exchange through; `kept` and `load` lose nothing.
  private static func revoking(_ stage: Stage, _ isRevoked: Bool) -> String {
    func service(_ name: String, _ before: String, _ after: String) -> String {
      let pins = "pins: [\(stage.leaf.pin), \(stage.backup.pin)]"
      let line = (isRevoked ? after : before).replacing("PINS", with: pins)
      return "  \(name): { upstream: \"\(stage.origin)/base/\", ca_file: ca.pem, \(line) }"
    }
    return """
      limits: { revoked_grace: 100ms }
      listeners: { main: { address: localhost:0, allow_users: [\(getuid())] } }
      credentials: { canary: { origins: ["\(stage.origin)"], bearer: { file: canary.token } } }
      services:
      \(service("kept", "PINS, credential: canary", "PINS, credential: canary, rules: [{ match: /held }]"))
      \(service("load", "PINS, credential: canary", "PINS, credential: canary"))
      \(service("rule", "PINS, credential: canary", "PINS, credential: canary, rules: [{ match: /other }]"))
      \(service("grant", "PINS, credential: canary", "PINS, credential: none"))
      \(service("caller", "PINS, credential: canary", "PINS, credential: canary, allow_users: [12345]"))
      \(service("pin", "PINS, credential: canary", "credential: canary, pins: [\(stage.ca.pin), \(stage.backup.pin)]"))
      """
  }

  @Test func `T47: what is revoked under load is cut after its grace, and everything else goes on`() throws {
    let (arrived, goes) = (Gate(), Gate())
    let stage = try Stage { connection in
      while let request = try? connection.readRequest() {
        guard request.path == "/held" else {
          connection.answer("fine")
          continue
        }
        connection.say("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nha")
        arrived.open()
        goes.pass(seconds: 20)
        connection.say("lf")
      }
    }
    try stage.start(Self.revoking(stage, false))
    let port = try stage.daemon!.port()
    let load = SteadyLoad(callers: 4, port: port) { client, number in
      try client.send("GET /load/\(number) HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n")
      let answer = try client.answer()
      return answer.body == "fine" ? nil : answer.head
    }
    let names = ["kept", "rule", "grant", "caller", "pin"]
    let held = try names.map { name in
      let client = try stage.raw()
      try client.send(stage.head("GET", "/\(name)/held"))
      #expect(arrived.pass())
      return client
    }
    try load.goOn(by: 20)
    try stage.reload(Self.revoking(stage, true))
    for (name, client) in zip(names, held).dropFirst() {
      _ = try client.head()
      #expect(client.rest() == (Array("ha".utf8), .reset), "\(name)")
    }
    try load.goOn(by: 20)
    goes.open(times: names.count)
    #expect(try held[0].answer().body == "half")
    #expect(load.stop() == [])
    #expect(stage.log.lines(of: .request, ["aborted": "true"]).count == 4)
    stage.assertCanary(times: load.answered.count + names.count)
  }

  /// `make soak` sets the number. Each reload is followed by a request, so that its generation has come to life; some by one
  /// for which the system's authorities are read, and which they do not let through.
  @Test func `T47: memory stays the same however often the configuration is read`() throws {
    let count = ProcessInfo.processInfo.environment["BEARERD_RELOADS"].flatMap { Int($0) } ?? 500
    let places = try Places()
    let stage = places.stage
    try stage.start(places.configuration(0))
    let port = try stage.daemon!.port()
    let client = try stage.raw()
    var before = 0
    for number in 1...count {
      try stage.scratch.write("bearerd.yaml", places.configuration(number), mode: 0o644)
      #expect(try stage.control("reload") == "ok\n\(number + 1)\n")
      #expect(try Places.ask(client, number, port: port) == nil)
      if number % 20 == 0 {
        try client.send(stage.head("GET", "/stranger/"))
        #expect(try client.answer().body.contains("certificate-invalid"))
      }
      if number == 100 { before = stage.observed.residentPeak }
      if [100, 1_000, 5_000, 10_000].contains(number), count > 1_000 {
        FileHandle.standardError.write(Data("after \(number) reloads: \(stage.observed.resident) KiB resident\n".utf8))
      }
    }
    let grown = stage.observed.residentPeak - before
    #expect(stage.observed.hasGrown(since: before, byLessThan: 4_096), "\(grown) KiB more than after 100 reloads")
    #expect(stage.observed.descriptors < 40)
    places.check()
    stage.assertCanary(times: 0)
  }
}
