import Foundation
import Log
import ServerSupport
import StatusModel
import TestServer
import TestSupport
import Testing

@Suite(.inProcess) struct MetricsListenerTests {
  private static func metrics(_ users: String = "\(getuid())") -> String {
    "metrics: { address: localhost:0, allow_users: [\(users)] }"
  }

  private func ask(_ stage: Stage, _ target: String = "GET /metrics", _ fields: String = "") throws
    -> LocalClient.Response
  {
    let client = try stage.client("metrics")
    let port = try stage.daemon!.port("metrics")
    let host = fields.contains("Host:") ? "" : "Host: localhost:\(port)\r\n"
    try client.send("\(target) HTTP/1.1\r\n\(host)\(fields)Connection: close\r\n\r\n")
    return try client.response(isHead: target.hasPrefix("HEAD"))
  }

  private func scrape(_ stage: Stage) throws -> PrometheusText {
    let response = try ask(stage)
    #expect(response.status == 200)
    #expect(response.values("Content-Type") == ["text/plain; version=0.0.4; charset=utf-8"])
    return try PrometheusText(response.text)
  }

  @Test func `a scrape returns the main series with the right values`() throws {
    let stage = try Stage()
    try stage.start(
      stage.configuration(
        service: "rules: [{ match: /no, deny: true }, { match: \"/**\" }]", more: Self.metrics()))
    let before = try scrape(stage)
    #expect(try before.value("bearerd_refusals_total", ["service": "api", "code": "pin-mismatch"]) == 0)
    for _ in 0..<3 { #expect(try stage.get().status == 200) }
    #expect(try stage.get("/api/no").status == 403)
    #expect(try stage.get("/elsewhere-MARK").status == 404)
    let text = try scrape(stage)
    #expect(try text.value("bearerd_requests_total", ["service": "api", "rule": "2", "status": "2xx"]) == 3)
    #expect(try text.value("bearerd_requests_total", ["service": "api", "rule": "1", "status": "4xx"]) == 1)
    #expect(try text.value("bearerd_requests_total", ["service": "", "status": "4xx"]) == 1)
    #expect(try text.value("bearerd_refusals_total", ["service": "api", "code": "denied"]) == 1)
    #expect(try text.value("bearerd_refusals_total", ["service": "", "code": "no-service"]) == 1)
    #expect(try text.value("bearerd_response_body_bytes_total", ["service": "api"]) > 14)
    #expect(try text.value("bearerd_retries_total", ["service": "api"]) == 0)
    let sessions = try text.value("bearerd_upstream_handshakes_total", ["service": "api", "type": "full"])
    #expect(sessions >= 1)
    #expect(try text.value("bearerd_pin_results_total", ["service": "api", "result": "matched"]) >= sessions)
    #expect(try text.value("bearerd_upstream_connect_seconds_count", ["service": "api"]) >= sessions)
    #expect(try text.value("bearerd_upstream_handshake_seconds_count", ["service": "api"]) >= sessions)
    #expect(try text.value("bearerd_upstream_response_head_seconds_count", ["service": "api"]) == 3)
    #expect(try text.value("bearerd_upstream_connections", ["credential": "canary", "state": "idle"]) >= 1)
    #expect(try text.value("bearerd_upstream_connections", ["credential": "canary", "state": "active"]) == 0)
    #expect(try text.value("bearerd_client_connections_total", ["listener": "main"]) == 5)
    #expect(try text.value("bearerd_credential_available", ["credential": "canary"]) == 1)
    #expect(try text.value("bearerd_credential_generation", ["credential": "canary"]) == 1)
    #expect(try text.value("bearerd_credential_accepted_total", ["credential": "canary"]) == 3)
    #expect(try text.value("bearerd_credential_changed_timestamp_seconds") > 1_600_000_000)
    #expect(try text.value("bearerd_configuration_generation") == 1)
    #expect(try text.value("bearerd_configuration_last_reload_successful") == 1)
    #expect(try text.value("bearerd_log_lines_dropped_total") == 0)
    #expect(try text.value("process_resident_memory_bytes") > 1_000_000)
    #expect(try text.value("process_open_fds") > 5)
    #expect(try text.value("process_start_time_seconds") > 1_600_000_000)
    #expect(!stage.log.contains(.request, ["path": "/metrics"]))
    stage.assertCanary(times: 3)
  }

  @Test func `every metric has the labels that the reference lists`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(more: Self.metrics()))
    #expect(try stage.get().status == 200)
    let page = try String(contentsOfFile: "\(repositoryRoot)/docs/reference/metrics.md", encoding: .utf8)
    var labels: [String: [String]] = [:]
    for row in page.matches(of: /\| `([a-z_]+)` \| [a-z]+ \| ([^|]*) \|/) {
      labels[String(row.1)] = row.2.matches(of: /`([a-z_]+)`/).map { String($0.1) }.sorted()
    }
    #expect(labels.count > 35)
    for sample in try scrape(stage).samples {
      let family = sample.name.replacing(/_(bucket|sum|count)$/, with: "")
      let found = labels[sample.name] ?? labels[family]
      #expect(sample.labels.keys.filter { $0 != "le" }.sorted() == found, "\(sample.name)")
    }
  }

  @Test func `the metrics count a wrong pin, a failed reload and a rejected credential`() throws {
    let stage = try Stage { connection in
      while let _ = connection.head() { connection.send("HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n") }
    }
    try stage.start(stage.configuration(more: Self.metrics()))
    #expect(try stage.get().status == 401)
    try stage.reload("services: [")
    var text = try scrape(stage)
    #expect(try text.value("bearerd_credential_rejected_total", ["credential": "canary"]) == 1)
    #expect(try text.value("bearerd_configuration_last_reload_successful") == 0)
    try stage.reload(
      stage.configuration(pins: [try Stage.leaf(issuer: stage.ca).pin, stage.backup.pin], more: Self.metrics()))
    #expect(try stage.get().status == 502)
    text = try scrape(stage)
    #expect(try text.value("bearerd_pin_results_total", ["service": "api", "result": "mismatched"]) == 1)
    #expect(try text.value("bearerd_refusals_total", ["service": "api", "code": "pin-mismatch"]) == 1)
    // A service with the same name keeps its counters.
    #expect(try text.value("bearerd_requests_total", ["service": "api", "status": "4xx"]) == 1)
    #expect(try text.value("bearerd_configuration_generation") == 2)
    stage.assertCanary(times: 1)
  }

  /// All label values come from the configuration, so that requests cannot add series.
  @Test func `no request adds a series`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(more: Self.metrics()))
    _ = try stage.get()
    let before = try scrape(stage)
    for number in 0..<20 {
      _ = try stage.get("/api/MARK-\(number)?MARK=\(number)", fields: "X-MARK: \"}\\ \(number)\r\n")
      _ = try stage.request("MARK\(number) /MARK-\(number)/x HTTP/1.1\r\nHost: HOST\r\n\r\n")
    }
    let response = try ask(stage)
    let after = try PrometheusText(response.text)
    #expect(
      after.samples.map { "\($0.name)\($0.labels.sorted { $0.key < $1.key })" }.sorted()
        == before.samples.map { "\($0.name)\($0.labels.sorted { $0.key < $1.key })" }.sorted())
    #expect(!response.text.contains("MARK"))
    stage.assertCanary(times: 21)
  }

  @Test func `T1 T2: the metrics listener refuses web pages and unknown host names`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(more: Self.metrics()))
    #expect(try ask(stage, "GET /metrics", "Origin: https://evil.test\r\n").status == 403)
    #expect(try ask(stage, "GET /metrics", "Sec-Fetch-Site: cross-site\r\n").status == 403)
    #expect(try ask(stage, "GET /metrics", "Host: evil.test\r\n").status == 421)
    #expect(try ask(stage, "GET http://evil.test/metrics").status == 421)
    #expect(try ask(stage).status == 200)
    stage.assertCanary(times: 0)
  }

  @Test func `only the metrics listener serves /metrics, and only for GET and HEAD`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(more: Self.metrics()))
    for target in ["GET /", "GET /api/x", "POST /metrics", "DELETE /metrics", "GET /metrics/", "GET /metrics/x"] {
      #expect(try ask(stage, target).status == 404, "\(target)")
    }
    let head = try ask(stage, "HEAD /metrics")
    #expect(head.status == 200 && head.body.isEmpty)
    #expect(try ask(stage, "GET /metrics?collect[]=x").status == 200)
    #expect(try stage.get("/metrics").status == 404)
    #expect(stage.upstream.records.isEmpty)
    stage.assertCanary(times: 0)
  }

  @Test func `one connection serves several scrapes, and a request with a body closes the connection`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(more: Self.metrics()))
    let client = try stage.client("metrics")
    let head = "GET /metrics HTTP/1.1\r\nHost: localhost:\(try stage.daemon!.port("metrics"))\r\n"
    for _ in 0..<3 {
      try client.send(head + "\r\n")
      _ = try PrometheusText(try client.response().text)
    }
    try client.send(head + "Content-Length: 5\r\n\r\nab")
    let last = try client.response()
    #expect(last.status == 200 && last.values("Connection") == ["close"])
    stage.assertCanary(times: 0)
  }

  @Test func `a reload adds and removes the metrics listener`() throws {
    let stage = try Stage()
    try stage.start()
    try stage.reload(stage.configuration(more: Self.metrics()))
    #expect(try scrape(stage).value("bearerd_configuration_generation") == 2)
    let port = try stage.daemon!.port("metrics")
    try stage.reload(stage.configuration())
    #expect(eventually { (try? RawClient(port: port)) == nil })
    stage.assertCanary(times: 0)
  }
}
