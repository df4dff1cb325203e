import Foundation
import ServerSupport
import TestServer
import TestSupport
import Testing

/// A reload may remove, reorder or re-address listeners, services and credentials. Requests, idle connections and
/// logouts keep their listener and credential (T46, T47, T58).
@Suite(.inProcess) struct ReloadsKeepListenersApart {
  @Test(arguments: [1, 2])
  func `T46: a logout after a reload with fewer credentials affects only its own credential`(workers: Int) throws {
    let stage = try Stage()
    let all = 0..<8
    for index in all { try stage.scratch.write("c\(index).token", index == 7 ? stage.canary : "value-of-\(index)") }
    func text(_ credentials: Range<Int>) -> String {
      """
      listeners: { main: { address: "localhost:0", allow_users: [\(getuid())] } }
      workers: \(workers)
      control: control.sock
      credentials:
      \(credentials.map { "  c\($0): { origins: [\"\(stage.origin)\"], bearer: { file: c\($0).token } }" }.joined(separator: "\n"))
      services:
      \(credentials.map { "  s\($0): { upstream: \"\(stage.origin)/\", ca_file: ca.pem, credential: c\($0) }" }.joined(separator: "\n"))
      """
    }
    let daemon = try stage.start(text(all))
    let clients = try all.map { _ in try stage.client() }
    for (index, client) in clients.enumerated() {
      try client.send(stage.head("GET", "/s\(index)/x"))
      #expect(try client.response().status == 200)
    }
    try stage.reload(text(0..<2))
    let report = try stage.logOut("c0")
    #expect(report["credential"] as? String == "c0" && daemon.isRunning)
    try clients[7].send(stage.head("GET", "/s0/x"))
    #expect(try clients[7].response().isRefused("login-required"))
    try clients[0].send(stage.head("GET", "/s1/x"))
    #expect(try clients[0].response().status == 200)
    stage.assertCanary(times: 1)
  }

  /// Two listeners of one configuration, each with a service at `/u/`, an upstream and a credential of its own. The
  /// upstream of `two` gets a request for `/hold`, waits, and closes without a response, so that bearerd sends the
  /// request again.
  private final class TwoListeners {
    let stage: Stage
    let three: UpstreamServer
    let relay: Relay
    let isPending: Gate
    let release: Gate
    let isRetrying: Gate
    let mayRetry: Gate
    let token = ClientTokens.ci

    init() throws {
      let (isPending, release, isRetrying, mayRetry) = (Gate(), Gate(), Gate(), Gate())
      let stage = try Stage { connection in
        while let request = try? connection.readRequest() {
          if request.path.hasSuffix("/hold") {
            isPending.open()
            release.pass()
            return connection.close()
          }
          connection.respond("two")
        }
      }
      three = try UpstreamServer(
        chain: [stage.leaf],
        handler: UpstreamServer.httpHandler(response: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nthree"))
      relay = try Relay(to: stage.upstream.port) { number in
        if number > 0 {
          isRetrying.open()
          mayRetry.pass()
        }
      }
      try stage.scratch.write("three.token", "value-of-three")
      self.stage = stage
      (self.isPending, self.release, self.isRetrying, self.mayRetry) = (isPending, release, isRetrying, mayRetry)
    }

    deinit {
      release.open(times: 9)
      mayRetry.open(times: 9)
      three.stop()
    }

    /// The path of a Unix socket of the stage.
    func socket(_ name: String) -> String { "\(stage.scratch.path)/\(name).sock" }

    /// - Parameters:
    ///   - listeners: names and addresses, in the order of the file.
    func text(_ listeners: [(name: String, address: String)], workers: Int) -> String {
      let lines = listeners.map { name, address in
        "  \(name): { address: \"\(address)\", allow_users: [\(getuid())]\(name == "two" ? ", clients: \(ClientTokens.both)" : "") }"
      }
      let services = listeners.map { name, _ in
        let port = name == "two" ? relay.port : three.port
        return
          "  \(name): { at: /u/, listener: \(name), upstream: \"https://localhost:\(port)/base/\", ca_file: ca.pem, credential: \(name == "two" ? "canary" : "pass") }"
      }
      return """
        listeners:
        \(lines.joined(separator: "\n"))
        workers: \(workers)
        control: control.sock
        audit: { file: audit.log, required: true }
        credentials:
          canary: { origins: ["https://localhost:\(relay.port)"], bearer: { file: canary.token } }
        services:
        \(services.joined(separator: "\n"))
        """
    }

    func send(_ method: String, _ path: String, to client: RawClient) throws {
      try client.send(
        "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\nX-Mine: for-two\r\nAuthorization: Bearer \(token.text)\r\n\r\n"
      )
    }

    /// Records of the audit file and lines of the log about a path.
    func records(of path: String) throws -> (audit: Int, log: Int) {
      let audit = try String(contentsOfFile: stage.scratch.path + "/audit.log", encoding: .utf8)
        .split(separator: "\n").filter { $0.contains(" path=\(path) ") }
      return (audit.count, stage.log.lines(named: "request", ["path": LoggedField(stringLiteral: path)]).count)
    }

    /// Checks that no data of the client of `two` has reached the upstream of `three`, and that the request has one
    /// record.
    func assertApart(_ path: String, canaries: Int) throws {
      let got = three.records.map { String(decoding: $0.bytes, as: UTF8.self) }.joined()
      #expect(!got.contains("for-two") && !got.contains(token.text) && !got.contains(stage.canary))
      #expect(try eventually { try records(of: path).log == 1 && records(of: path).audit == 1 })
      #expect(stage.daemon?.isRunning == true)
      stage.assertCanary(times: canaries)
    }
  }

  private enum Change: CaseIterable { case removed, readdressed, reordered }

  @Test(arguments: [1, 3], ["GET", "DELETE"])
  func `T47: a request of a removed or re-addressed listener is not retried at another listener`(
    workers: Int, method: String
  ) throws {
    for change in Change.allCases {
      let stages = try TwoListeners()
      let (two, three) = (stages.socket("two"), stages.socket("three"))
      let moved = stages.socket("moved")
      try stages.stage.start(
        stages.text([("main", "localhost:0"), ("two", "unix:\(two)"), ("three", "unix:\(three)")], workers: workers))
      let client = try RawClient(unix: two)
      try stages.send("GET", "/u/first", to: client)
      #expect(try client.response().body == "two")
      try stages.send(method, "/u/hold", to: client)
      #expect(stages.isPending.pass())
      let after: [(String, String)] =
        switch change {
        case .removed: [("main", "localhost:0"), ("three", "unix:\(three)")]
        case .readdressed: [("main", "localhost:0"), ("three", "unix:\(three)"), ("two", "unix:\(moved)")]
        case .reordered: [("three", "unix:\(three)"), ("main", "localhost:0")]
        }
      try stages.stage.reload(stages.text(after, workers: workers))
      stages.release.open()
      let response = try client.response()
      #expect(
        response.head.hasPrefix("HTTP/1.1 503 ") && response.body.contains("error:listener-removed\""), "\(response)")
      #expect(client.rest().bytes.isEmpty)
      try stages.assertApart("/u/hold", canaries: 2)
    }
  }

  @Test(arguments: [1, 3])
  func `T58: a retry that is pending when its listener is removed has one record`(workers: Int) throws {
    let stages = try TwoListeners()
    let (two, three) = (stages.socket("two"), stages.socket("three"))
    try stages.stage.start(
      stages.text([("main", "localhost:0"), ("two", "unix:\(two)"), ("three", "unix:\(three)")], workers: workers))
    let client = try RawClient(unix: two)
    try stages.send("GET", "/u/first", to: client)
    #expect(try client.response().body == "two")
    try stages.send("GET", "/u/hold", to: client)
    #expect(stages.isPending.pass())
    stages.release.open()
    #expect(stages.isRetrying.pass())
    try stages.stage.reload(stages.text([("main", "localhost:0"), ("three", "unix:\(three)")], workers: workers))
    let response = try client.response()
    #expect(
      response.head.hasPrefix("HTTP/1.1 503 ") && response.body.contains("error:listener-removed\""), "\(response)")
    stages.mayRetry.open(times: 9)
    try stages.assertApart("/u/hold", canaries: 2)
  }

  /// The second request waits for a TLS handshake, so it is never sent.
  @Test(arguments: [1, 3])
  func `T58: a request that waits for its upstream when its listener is removed has one record`(workers: Int) throws {
    let stages = try TwoListeners()
    let (two, three) = (stages.socket("two"), stages.socket("three"))
    try stages.stage.start(
      stages.text([("main", "localhost:0"), ("two", "unix:\(two)"), ("three", "unix:\(three)")], workers: workers))
    let clients = try (0..<2).map { _ in try RawClient(unix: two) }
    try stages.send("GET", "/u/hold", to: clients[0])
    #expect(stages.isPending.pass())
    try stages.send("GET", "/u/waits", to: clients[1])
    #expect(stages.isRetrying.pass())
    try stages.stage.reload(stages.text([("main", "localhost:0"), ("three", "unix:\(three)")], workers: workers))
    let response = try clients[1].response()
    #expect(
      response.head.hasPrefix("HTTP/1.1 503 ") && response.body.contains("error:listener-removed\""), "\(response)")
    stages.mayRetry.open(times: 9)
    try stages.assertApart("/u/waits", canaries: 1)
  }
}
