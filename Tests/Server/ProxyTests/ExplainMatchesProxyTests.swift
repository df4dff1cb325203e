import Generations
import Loading
import TestServer
import Foundation
import Gateway
import HTTP1
import Policy
import ServerSupport
import TestSupport
import Testing

/// Compares `bearerctl explain` with the proxy: 10,000 random requests, byte for byte.
@Suite(.inProcess) struct ExplainMatchesProxy {
  @Test func `explain predicts the exact request that the upstream receives`() throws {
    // The upstream responds with the head that it received.
    let stage = try Stage(
      handler: UpstreamServer.httpHandler { request in
        Array("HTTP/1.1 200 OK\r\nContent-Length: \(request.head.count)\r\n\r\n".utf8) + request.head
      })
    let more = """
        bare: { upstream: "\(stage.origin)/", ca_file: ca.pem, credential: none }
        own: { upstream: "\(stage.origin)/x/y/", ca_file: ca.pem, credential: pass, on_client_header: keep }
      """
    let rules = """
      set_headers: { X-Set: here }
      remove_headers: [X-Gone]
      rules:
        - { match: "/status", methods: [GET], credential: none }
        - { match: "/a/*/c", deny: true }
        - { match: "/b/**" }
        - { match: "/a/**", methods: [GET, POST, OPTIONS], allow_client_headers: [Cookie] }
        - { match: "/keep/**", on_client_header: keep }
        - { match: "/reject/**", on_client_header: reject }
        - { match: "/own/?", credential: pass }
      """
    let daemon = try stage.start(stage.configuration(service: rules, services: more))
    let port = try daemon.port()
    let settings = try ConfigurationLoader.load(daemon.file).settings
    let snapshot = ConfigurationLoader.snapshot(of: settings, generation: 1, ports: [[port]])

    var random = SeededGenerator(state: 20_261_121)
    var client = try LocalClient(port: port)
    var forwarded = 0
    for _ in 0..<10_000 {
      let bytes = random.request(port: port)
      var head = RequestHead()
      var reader = HeadReader(limits: HeadLimits())
      guard (try? reader.readRequest(bytes.span, into: &head)) == bytes.count else { continue }
      let explained = Explanation(head, caller: Caller(uid: getuid()), listener: 0, snapshot: snapshot)
      try client.send(bytes)
      let response = try client.response(isHead: head.method == .head)
      let context = "\(String(decoding: bytes, as: UTF8.self)) → \(response.head)"
      if let refusal = explained.refusal {
        #expect(response.status == refusal.row.status, "\(context)")
        #expect(response.values("Proxy-Status").first?.contains(refusal.row.code.description) == true, "\(context)")
      } else {
        forwarded += 1
        #expect(response.status == 200, "\(context)")
        var expected = String(decoding: explained.upstreamHead, as: UTF8.self)
        if explained.grant != nil { expected += "Authorization: Bearer \(stage.canary)\r\n" }
        if head.method != .head { #expect(response.text == expected + "\r\n", "\(context)") }
      }
      if response.values("Connection").contains("close") { client = try LocalClient(port: port) }
    }
    #expect(forwarded > 1_500)
  }

  /// Each forwarding rule adds its number to the request. The upstream must get the number of the rule that explain
  /// names.
  @Test(arguments: 0..<6 as Range<UInt64>)
  func `T19: of overlapping rules the same rule decides in explain and in the proxy`(seed: UInt64) throws {
    let stage = try Stage(
      handler: UpstreamServer.httpHandler { request in
        Array("HTTP/1.1 200 OK\r\nContent-Length: \(request.head.count)\r\n\r\n".utf8) + request.head
      })
    var random = SeededGenerator(state: seed)
    let daemon = try stage.start()
    let port = try daemon.port()
    var forwarded = 0
    for generation in 2..<8 as Range<UInt64> {
      let rules = random.rules()
      try stage.reload(stage.configuration(service: rules))
      let settings = try ConfigurationLoader.load(daemon.file).settings
      let snapshot = ConfigurationLoader.snapshot(of: settings, generation: generation, ports: [[port]])
      let shadowed = Set(snapshot.rules.shadowedRules().map(\.rule))
      let client = try LocalClient(port: port)
      for _ in 0..<60 {
        let bytes = random.plainRequest(port: port)
        var head = RequestHead()
        var reader = HeadReader(limits: HeadLimits())
        try #require(try reader.readRequest(bytes.span, into: &head) == bytes.count)
        let explained = Explanation(head, caller: Caller(uid: getuid()), listener: 0, snapshot: snapshot)
        let winners = explained.rules.filter { $0.outcome == .won }.map(\.rule)
        try client.send(bytes)
        let response = try client.response()
        let context = "\(rules)\n\(String(decoding: bytes, as: UTF8.self)) → \(response.head)\n\(response.text)"
        #expect(winners.count <= 1 && shadowed.isDisjoint(with: winners), "\(context)")
        let numbers = response.text.components(separatedBy: "\r\n").filter { $0.hasPrefix("X-Rule: ") }
        if explained.refusal == nil, let winner = winners.first {
          forwarded += 1
          #expect(response.status == 200 && numbers == ["X-Rule: \(winner + 1)"], "\(context)")
          #expect(explained.route?.rule == winner, "\(context)")
          let credential = explained.grant == nil ? "" : "Authorization: Bearer \(stage.canary)\r\n"
          let sent = String(decoding: explained.upstreamHead, as: UTF8.self) + credential + "\r\n"
          #expect(response.text == sent, "\(context)")
        } else {
          #expect(response.status == 403 && explained.refusal?.row.status == 403 && numbers.isEmpty, "\(context)")
        }
      }
    }
    #expect(forwarded > 20)
  }
}

extension ExplainMatchesProxy {
  private func explain(_ path: String, _ stage: Stage) throws -> CommandResult {
    try run([RunningDaemon.binary("bearerctl"), "explain", "GET", path, "--config", stage.daemon!.file])
  }

  @Test func `explain reports that a daemon with an older configuration decides differently`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(service: "rules: [{ match: \"/**\" }]", more: "control: c.sock"))
    let same = try explain("/api/x", stage)
    #expect(same.status == 0 && same.output.hasSuffix("\nThe request would be sent.\n"), "\(same.output)")
    let other = stage.configuration(service: "rules: [{ match: /y }]", more: "control: c.sock")
    try stage.scratch.write("bearerd.yaml", other, mode: 0o644)
    let changed = try explain("/api/x", stage)
    #expect(changed.status == 1 && changed.output.contains("Refused: 403 no-rule."), "\(changed.output)")
    #expect(
      changed.output.hasSuffix("decides differently: service api, rule 1, credential canary.\n"), "\(changed.output)")
    try stage.daemon!.reload()
    #expect(try !explain("/api/x", stage).output.contains("decides differently"))
  }

  @Test func `explain reports that the daemon's secret is missing`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(more: "control: c.sock"))
    #expect(try explain("/api/x", stage).status == 0)
    try FileManager.default.removeItem(atPath: stage.scratch.path + "/canary.token")
    #expect(try eventually { try stage.get("/api/x").status == 503 })
    let gone = try explain("/api/x", stage)
    #expect(
      gone.status == 1 && gone.output.hasSuffix("\nThe request would be refused now: 503 credential-unavailable.\n"),
      "\(gone.output)")
  }
}

/// Reproducible requests, most of them almost valid.
extension SeededGenerator {
  fileprivate mutating func pick(_ choices: [String]) -> String { choices.randomElement(using: &self) ?? "" }

  fileprivate mutating func rules() -> String {
    let rows = (0..<Int.random(in: 2...6, using: &self)).map { index in
      let pattern = (0..<Int.random(in: 1...3, using: &self)).map { _ in "/" + pick(["a", "b", "*", "**", "a*", "?"]) }
      let methods = pick(["", "", ", methods: [GET]", ", methods: [POST, GET]", ", methods: [OPTIONS, POST]"])
      let number = ", set_headers: { X-Rule: \"\(index + 1)\" }"
      let effect = pick([", deny: true", number, number + ", credential: none", number + ", credential: pass"])
      return "  - { match: \"\(pattern.joined())\"\(methods)\(effect) }"
    }
    return "rules:\n" + rows.joined(separator: "\n")
  }

  fileprivate mutating func plainRequest(port: UInt16) -> [UInt8] {
    let path = (0..<Int.random(in: 1...3, using: &self)).map { _ in "/" + pick(["a", "b", "ab", "c"]) }.joined()
    let own = pick(["", "Authorization: Bearer own\r\n"])
    return Array(
      "\(pick(["GET", "POST", "OPTIONS"])) /api\(path) HTTP/1.1\r\nHost: localhost:\(port)\r\n\(own)\r\n".utf8)
  }

  fileprivate mutating func request(port: UInt16) -> [UInt8] {
    let method = pick(["GET", "GET", "GET", "HEAD", "POST", "DELETE", "OPTIONS", "PROPFIND", "MOVE", "TRACE"])
    var path = "/" + pick(["api", "api", "api", "bare", "bare", "own", "none"])
    for _ in 0..<Int.random(in: 0..<4, using: &self) {
      path += pick(["/", "/", "/", "/", "/", "/", "/", "//", "%2F", "%2f"])
      path += pick([
        "a", "a", "a", "a", "b", "b", "b", "c", "c", "status", "keep", "reject", "own", "x", "%61", "a;v=1", "%C3%A9",
        "a%25b", ".", "..", "%2e%2e", "",
      ])
    }
    let query = pick(["", "", "?q=1", "?access_token=evil&q=2", "?q=3&api%5Fkey=evil", "?"])
    var text =
      "\(method) \(path)\(query) HTTP/1.1\r\nHost: \(pick(["localhost", "127.0.0.1", "LOCALHOST"])):\(port)\r\n"
    let fields = [
      "Accept: */*", "Authorization: Bearer evil", "x_api_key: evil", "Cookie: a=b", "X-Gone: evil", "X-Set: evil",
      "TE: trailers",
      "Connection: X-Hop", "X-Hop: 1", "Connection: Authorization", "Origin: https://evil.test", "Sec-Fetch-Site: none",
      "Sec-Fetch-Mode: cors", "Sudo: root", "X-Forwarded-For: 1.2.3.4", "Upgrade: h2c", "Keep-Alive: 5", "X-Plain: yes",
      "Destination: /api/b/%61?access_token=evil", "Destination: http://localhost:\(port)/api/a/b/c", "Destination: c",
      "Destination: /bare/x", "If: </api/b/x> (<urn:x>)",
    ]
    for _ in 0..<Int.random(in: 0..<3, using: &self) { text += pick(fields) + "\r\n" }
    return Array((text + "\r\n").utf8)
  }
}
