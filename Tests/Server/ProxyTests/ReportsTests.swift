import StatusModel
import TestServer
import Foundation
import ServerSupport
import TestSupport
import Testing

/// Reports of failed verifications (RFC 7469 section 3).
@Suite(.inProcess) struct Reports {
  private func server(_ chain: [Certificate], status: String = "204 No Content") throws -> UpstreamServer {
    try UpstreamServer(
      chain: chain, handler: UpstreamServer.httpHandler(response: "HTTP/1.1 \(status)\r\nContent-Length: 0\r\n\r\n"))
  }

  /// Starts a daemon with a wrong pin for its upstream, and with reports.
  private func start(
    _ stage: Stage, _ server: UpstreamServer, host: String = "127.0.0.1", service: String = ""
  ) throws {
    try stage.start(
      stage.configuration(
        service: "backup_pin: none\n" + service, pins: [stage.backup.pin],
        more: """
          control: control.sock
          reports: { to: "https://\(host):\(server.port)/pins?team=web", ca_file: ca.pem }
          """))
  }

  private func report(_ server: UpstreamServer) throws -> [String: Any] {
    #expect(server.wait { $0.count == 1 && $0[0].isFinished })
    let parts = String(decoding: try #require(server.records.first).bytes, as: UTF8.self)
      .components(separatedBy: "\r\n\r\n")
    #expect(parts[0].hasPrefix("POST /pins?team=web HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\n"))
    return try #require(try JSONSerialization.jsonObject(with: Data(parts[1].utf8)) as? [String: Any])
  }

  private func counts(_ stage: Stage) throws -> [String] {
    let metrics = String(try stage.control("metrics"))
    return metrics.split(separator: "\n").filter { $0.hasPrefix("bearerd_reports_total{") }.map {
      String($0.dropFirst("bearerd_reports_total".count))
    }
  }

  @Test func `many requests with the same wrong pin cause one report, without path and secret`() throws {
    let stage = try Stage()
    let server = try server([stage.leaf])
    defer { server.stop() }
    try start(stage, server)
    for _ in 0..<50 { #expect(try stage.get("/api/private-path").status == 502) }
    let report = try report(server)
    #expect(report["service"] as? String == "api")
    #expect(report["verdict"] as? String == "pin-mismatch")
    #expect(report["hostname"] as? String == "localhost")
    #expect(report["port"] as? Int == Int(stage.upstream.port))
    #expect(report["address"] as? String == "127.0.0.1:\(stage.upstream.port)")
    #expect(report["served-certificate-chain"] as? [String] == [stage.leaf.pem])
    #expect(report["validated-certificate-chain"] as? [String] == [stage.leaf.pem, stage.ca.pem])
    #expect(
      report["known-pins"] as? [String] == ["pin-sha256=\"\(stage.backup.pin.dropFirst("sha256/".count))\""])
    let sent = String(decoding: server.records.flatMap(\.bytes), as: UTF8.self)
    #expect(!sent.contains("private-path") && !sent.contains("/base/") && !sent.contains(stage.canary))
    #expect(
      try counts(stage) == ["{result=\"sent\"} 1", "{result=\"failed\"} 0", "{result=\"suppressed\"} 49"])
    #expect(server.records.count == 1)
  }

  @Test func `a mismatch in report mode is reported, and the request succeeds`() throws {
    let stage = try Stage()
    let server = try server([stage.leaf])
    defer { server.stop() }
    try start(stage, server, service: "pin_mode: report")
    #expect(try stage.get().status == 200)
    #expect(try report(server)["verdict"] as? String == "pin-mismatch")
  }

  @Test func `an untrusted chain is reported without a verified chain`() throws {
    let stage = try Stage()
    let server = try server([stage.leaf])
    defer { server.stop() }
    let stranger = try Stage.leaf(issuer: Stage.leaf(issuer: stage.ca))
    try stage.upstream.replaceCertificates([stranger])
    try start(stage, server)
    #expect(try stage.get().status == 502)
    let report = try report(server)
    #expect(report["verdict"] as? String == "certificate-invalid")
    #expect(report["served-certificate-chain"] as? [String] == [stranger.pem])
    #expect((report["validated-certificate-chain"] as? [String])?.isEmpty == true)
  }

  @Test func `a report host that cannot be verified gets nothing`() throws {
    let stage = try Stage()
    let server = try server([Stage.leaf(issuer: stage.ca, names: ["other.test"], addresses: [])])
    defer { server.stop() }
    try start(stage, server)
    #expect(try stage.get().status == 502)
    #expect(stage.log.wait(for: .reportFailed))
    #expect(server.records.count == 1 && server.records.allSatisfy { $0.bytes.isEmpty })
    #expect(
      try counts(stage) == ["{result=\"sent\"} 0", "{result=\"failed\"} 1", "{result=\"suppressed\"} 0"])
  }

  @Test func `the host whose verification failed gets no report`() throws {
    let stage = try Stage()
    let server = try server([stage.leaf])
    defer { server.stop() }
    try start(stage, server, host: "localhost")
    #expect(try stage.get().status == 502)
    #expect(
      try counts(stage) == ["{result=\"sent\"} 0", "{result=\"failed\"} 0", "{result=\"suppressed\"} 1"])
    #expect(server.records.isEmpty)
  }

  @Test func `a report that the server does not accept is logged and not repeated`() throws {
    let stage = try Stage()
    let server = try server([stage.leaf], status: "503 Service Unavailable")
    defer { server.stop() }
    try start(stage, server)
    for _ in 0..<3 { #expect(try stage.get().status == 502) }
    #expect(stage.log.wait(for: .reportFailed))
    #expect(server.records.count == 1)
    #expect(stage.log.lines(of: .reportFailed).count == 1)
  }

  @Test func `without the key, there is no metric`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(more: "control: control.sock"))
    #expect(try counts(stage).isEmpty)
  }
}
