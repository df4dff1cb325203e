import Foundation
import ServerSupport
import StatusModel
import TestServer
import TestSupport
import Testing

/// The log, the status, the metrics and `explain` say which HTTP version was spoken, and why.
@Suite(.inProcess) struct HTTPVersionsAreReported {
  private func stage(
    _ protocols: [String] = ["h2", "http/1.1"], _ respond: @escaping @Sendable (HTTP2Request) -> [HTTP2Step]
  ) throws -> Stage {
    var options = UpstreamServer.Options()
    options.protocols = protocols
    return try Stage(
      options: options,
      handler: UpstreamServer.http2Handler(
        http1: { connection in
          while connection.head() != nil { connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi") }
        }, respond: respond))
  }

  private func configuration(_ stage: Stage, _ service: String = "") -> String {
    stage.configuration(service: service, more: "workers: 1\ncontrol: control.sock")
  }

  private func status(_ stage: Stage) throws -> DaemonStatus {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    return try decoder.decode(DaemonStatus.self, from: Data(reply(stage.control("status")).utf8))
  }

  private func reply(_ text: String) -> String { text.hasPrefix("ok\n") ? String(text.dropFirst(3)) : text }

  private func pools(_ stage: Stage) throws -> [String] {
    try status(stage).pools.map { "\($0.httpVersion) \($0.idle) \($0.active) \($0.streams.map(String.init) ?? "-")" }
  }

  private func versions(_ stage: Stage) throws -> [String?] {
    let service = try status(stage).services[0]
    return [service.httpVersion, service.httpCause]
  }

  private func sample(_ stage: Stage, _ series: String) throws -> String? {
    try stage.control("metrics").split(separator: "\n").first { $0.hasPrefix(series + " ") }
      .map { String($0.dropFirst(series.count + 1)) }
  }

  @Test(
    arguments: [
      (["h2", "http/1.1"], "", "2", "selected"), (["http/1.1"], "", "1.1", "selected"), ([], "", "1.1", "not-selected"),
      (["h2", "http/1.1"], "protocol: http1", "1.1", "configured"), (["h2"], "protocol: http2", "2", "configured"),
    ] as [([String], String, String, String)])
  func `the version of an upstream, and who chose it`(
    protocols: [String], key: String, version: String, cause: String
  ) throws {
    let stage = try stage(protocols) { _ in .response("hi") }
    try stage.start(configuration(stage, key))
    #expect(try versions(stage) == [nil, nil])
    #expect(try stage.get().text == "hi")
    #expect(stage.log.wait(for: .request, ["http": "1.1", "upstream_http": "\(version)"]))
    #expect(try versions(stage) == [version, cause])
    #expect(try pools(stage) == [version == "2" ? "2 1 0 0" : "1.1 1 0 -"])
    let http2 = version == "2"
    #expect(
      try sample(stage, "bearerd_upstream_connections_opened_total{service=\"api\",http=\"2\"}") == (http2 ? "1" : "0"))
    #expect(
      try sample(
        stage, "bearerd_requests_by_http_version_total{service=\"api\",http=\"1.1\",upstream_http=\"\(version)\"}")
        == "1")
  }

  @Test func `a request that is not sent has no version of the upstream`() throws {
    let stage = try stage { _ in .response("hi") }
    try stage.start(configuration(stage, "rules: [{ match: \"/b\" }]"))
    #expect(try stage.get("/api/a").status == 403)
    #expect(stage.log.wait(for: .request, ["status": 403, "http": "1.1", "upstream_http": .absent]))
    let old = try stage.raw()
    try old.send("GET /api/b HTTP/1.0\r\nHost: localhost\r\n\r\n")
    _ = old.rest()
    #expect(stage.log.wait(for: .request, ["http": "1.0"]))
    let broken = try stage.raw()
    try broken.send([0x16, 3, 1, 0, 0])
    _ = broken.rest()
    #expect(stage.log.wait(for: .request, ["reason": "tlsHandshake", "http": .absent, "upstream_http": .absent]))
    #expect(
      try sample(stage, "bearerd_requests_by_http_version_total{service=\"api\",http=\"1.1\",upstream_http=\"none\"}")
        == "1")
  }

  @Test func `connections and streams in use are counted by version`() throws {
    let gate = HTTP2Gate()
    let stage = try stage { _ in [.wait(gate)] + .response("late") }
    try stage.start(configuration(stage))
    let clients = try (0..<3).map { _ in try stage.raw() }
    for client in clients { try client.send(stage.head("GET")) }
    #expect(eventually { stage.upstream.records.flatMap(\.http2.requests).count == 3 })
    #expect(try pools(stage) == ["2 0 1 3"])
    let login = try stage.raw()
    try login.send(stage.head("GET", fields: "Connection: upgrade\r\nUpgrade: x\r\n"))
    gate.open()
    for client in clients { #expect(try client.response().body == "late") }
    #expect(eventually { (try? self.pools(stage).first { $0.hasPrefix("2") }) == "2 1 0 0" })
    let origin = try status(stage).pools[0].upstream
    #expect(try sample(stage, "bearerd_upstream_streams{upstream=\"\(origin)\",credential=\"canary\"}") == "0")
    try stage.reload(configuration(stage, "protocol: http1"))
    #expect(try stage.get().text == "hi")
    #expect(eventually { (try? self.pools(stage)) == ["1.1 1 0 -"] })
  }

  @Test(arguments: [true, false])
  func `an upstream that requires HTTP/1.1 is named in the status`(isGoAway: Bool) throws {
    let stage = try stage { _ in isGoAway ? [.goAway(.http11Required, last: 0)] : [.reset(.http11Required)] }
    try stage.start(configuration(stage))
    #expect(try stage.get().text == "hi")
    #expect(stage.log.wait(for: .request, ["status": 200, "upstream_http": "1.1", "retried": "true"]))
    #expect(try versions(stage) == ["1.1", "required"])
    #expect(try stage.get().text == "hi")
    #expect(stage.upstream.records.map(\.applicationProtocol) == ["h2", "http/1.1"])
    let refused = "bearerd_upstream_streams_refused_total{service=\"api\",reason=\"http-1-1-required\"}"
    #expect(try sample(stage, refused) == "1")
    #expect(try sample(stage, "bearerd_upstream_goaways_total{service=\"api\"}") == (isGoAway ? "1" : "0"))
  }

  @Test func `refused streams are counted`() throws {
    let stage = try stage { _ in [.reset(.refusedStream)] }
    try stage.start(configuration(stage))
    #expect(try stage.get().status == 502)
    #expect(
      try sample(stage, "bearerd_upstream_streams_refused_total{service=\"api\",reason=\"refused\"}") == "2")
  }

  // MARK: upstreams that speak another version

  @Test func `an upstream without TLS that speaks only HTTP/1.1 is named in the log`() throws {
    var options = UpstreamServer.Options()
    options.isPlain = true
    let plain = try UpstreamServer(chain: [], options: options) { connection in
      try? connection.write(Array("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n".utf8))
      connection.readToEnd()
    }
    defer { plain.stop() }
    let stage = try Stage()
    try stage.start(
      stage.configuration(
        services: "  plain: { upstream: \"http://127.0.0.1:\(plain.port)/\", credential: none, protocol: http2 }"))
    #expect(try stage.get("/plain/x").status == 502)
    #expect(stage.log.wait(for: .request, ["detail": .naming("HTTP/1.1", "protocol: http2")]))
  }

  @Test func `an upstream that selects no version is named in the log`() throws {
    let stage = try stage([]) { _ in .response("hi") }
    try stage.start(configuration(stage, "protocol: http2"))
    let response = try stage.get()
    #expect(response.status == 502 && response.text.contains("tls-handshake-failed"))
    #expect(stage.log.wait(for: .request, ["detail": .naming("HTTP/2", "protocol: auto")]))
    #expect(stage.log.contains(.request, ["http": "1.1", "upstream_http": .absent]))
  }
}
