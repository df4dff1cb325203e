import StatusModel
import TestServer
import Foundation
import Log
import Synchronization
import ServerSupport
import TestSupport
import Testing

/// Configurations and secrets change while clients send requests. No request fails, no host gets another host's
/// requests or credentials (T47), and memory does not grow.
@Suite(.waits) struct ReloadUnderLoadTests {
  /// Two hosts. Each generation exchanges the hosts of the services `a` and `b` and of their credentials. The base path
  /// contains the number of the generation.
  private final class TwoHosts {
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

    /// Responds with `host token path length` of the request. Closes each connection after two requests, so that some
    /// requests always wait for a new connection.
    private static func host(_ number: Int) -> @Sendable (AcceptedConnection) -> Void {
      { connection in
        for isLast in [false, true] {
          guard let request = try? connection.readRequest() else { return }
          let words = request.text.split(whereSeparator: { $0 == " " || $0 == "\r\n" })
          let token = words.firstIndex(of: "Authorization:").map { words[$0 + 2] } ?? "none"
          connection.respond(
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

    /// Sends a request for `a` or `b`, some with a body. Returns a wrong response, or `nil`.
    static func request(_ client: RawClient, _ number: Int, port: UInt16) throws -> String? {
      let service = ["a", "b"][(number / 3) % 2]
      let body = number % 5 == 0 ? 40_000 : 0
      try client.send(
        "\(body == 0 ? "GET" : "PUT") /\(service)/\(number) HTTP/1.1\r\nHost: localhost:\(port)\r\nContent-Length: \(body)\r\n\r\n"
      )
      try client.send([UInt8](repeating: 120, count: body))
      let response = try client.response()
      guard response.head.hasPrefix("HTTP/1.1 200 ") else { return response.head }
      return isRight(response.body, service: service, number: number, bytes: body) ? nil : response.body
    }

    /// Whether host, token and path belong to the same generation.
    private static func isRight(_ response: String, service: String, number: Int, bytes: Int) -> Bool {
      let words = response.split(separator: " ")
      let path = words.count == 4 ? words[2].split(separator: "/") : []
      guard path.count == 3, let generation = Int(path[0]) else { return false }
      let host = ((service == "a" ? 0 : 1) + generation) % 2
      return words[0] == "\(host)" && words[1].hasPrefix("HOST\(host)-") && path[1] == service && path[2] == "\(number)"
        && words[3] == "\(bytes)"
    }

    /// Checks that no host has received the other host's token, or a path of a generation in which its service was at
    /// the other host.
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
  func `T47: reloads and rotations fail no request, and mix no pair of host and credential`(workers: Int) throws {
    let hosts = try TwoHosts(workers: workers)
    let stage = hosts.stage
    try stage.start(hosts.configuration(0) + "\ncontrol: control.sock\n")
    let port = try stage.daemon!.port()
    let load = SteadyLoad(callers: 6, port: port) { client, number in
      try TwoHosts.request(client, number, port: port)
    }
    // The thread sanitizer makes a program a hundred times slower, and the load does not adapt.
    let reloads = isSanitized ? 4 : 20
    for generation in 1...reloads {
      try load.waitForResponses(20)
      try stage.reload(hosts.configuration(generation) + "\ncontrol: control.sock\n")
      for host in 0...1 {
        try load.waitForResponses(5)
        try hosts.rotate(host, to: generation)
        // The directory is watched, so requests soon get the new value.
        let path = ["a", "b"][(host + generation) % 2]
        // Under a sanitizer, a connection of the previous round may have exceeded the idle timeout.
        let client = try stage.raw()
        #expect(
          try eventually {
            try client.send(stage.head("GET", "/\(path)/x"))
            return try client.response().body == "\(host) HOST\(host)-\(generation) /\(generation)/\(path)/x 0"
          })
      }
    }
    // Each of these reloads follows immediately after the previous one.
    let all = reloads + 80
    for generation in reloads + 1...all {
      try stage.scratch.write(
        "bearerd.yaml", Stage.withWorkers(hosts.configuration(generation)) + "\ncontrol: control.sock\n", mode: 0o644)
      #expect(try stage.control("reload") == "ok\n\(generation + 1)\n")
    }
    try load.waitForResponses(20)
    #expect(load.stop() == [])
    #expect(load.responseCount.count > reloads * 25)
    #expect(stage.log.lines(of: .reloaded).count == all)
    hosts.check()
    stage.assertCanary(times: 0)
  }

  /// `make soak` sets the number of reloads. A request after each reload uses the new generation. Some requests also
  /// load the system's certificate authorities, and are refused.
  @Test func `T47: memory does not grow with the number of reloads`() throws {
    let count = ProcessInfo.processInfo.environment["BEARERD_RELOADS"].flatMap { Int($0) } ?? 500
    let hosts = try TwoHosts()
    let stage = hosts.stage
    try stage.start(hosts.configuration(0))
    let port = try stage.daemon!.port()
    let client = try stage.raw()
    var before = 0
    for number in 1...count {
      try stage.scratch.write("bearerd.yaml", hosts.configuration(number), mode: 0o644)
      #expect(try stage.control("reload") == "ok\n\(number + 1)\n")
      #expect(try TwoHosts.request(client, number, port: port) == nil)
      if number % 20 == 0 {
        try client.send(stage.head("GET", "/stranger/"))
        #expect(try client.response().body.contains("certificate-invalid"))
      }
      if number == 100 { before = stage.observed.residentPeak }
      if [100, 1_000, 5_000, 10_000].contains(number), count > 1_000 {
        FileHandle.standardError.write(Data("after \(number) reloads: \(stage.observed.resident) KiB resident\n".utf8))
      }
    }
    let grown = stage.observed.residentPeak - before
    #expect(stage.observed.hasGrown(since: before, byLessThan: 4_096), "\(grown) KiB more than after 100 reloads")
    #expect(stage.observed.descriptors < 40)
    hosts.check()
    stage.assertCanary(times: 0)
  }
}
