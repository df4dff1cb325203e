import StatusModel
import TestServer
import Log
import ServerSupport
import TestSupport
import Testing

/// An upstream that bearerd reaches by another name or address than the name in its certificate.
@Suite(.inProcess) struct ServerNamesAreVerified {
  private static let name = "api.example.test"

  /// Returns a configuration whose service connects to `host`, and a certificate for `name`.
  private func configuration(_ stage: Stage, host: String, services: String = "") throws -> (String, Certificate) {
    let leaf = try Stage.leaf(issuer: stage.ca, names: [Self.name], addresses: [])
    let port = stage.upstream.port
    let origin = "https://\(Self.name):\(port)"
    let pins = [leaf.pin, stage.backup.pin]
    let text = stage.configuration(
      pins: pins, services: services.replacing("PINS", with: pins.joined(separator: ", "))
    )
    .replacing(stage.origin, with: origin)
    .replacing("upstream: \(origin)/", with: "server_name: \(Self.name)\n    upstream: https://\(host):\(port)/")
    return (text, leaf)
  }

  @Test(arguments: ["127.0.0.1", "localhost"])
  func `T24: TLS, Host, the log and the credential's permission follow server_name`(host: String) throws {
    let stage = try Stage()
    let (text, leaf) = try configuration(stage, host: host)
    try stage.upstream.replaceCertificates([leaf])
    try stage.start(text)
    #expect(try stage.get().status == 200)
    let authority = "\(Self.name):\(stage.upstream.port)"
    #expect(stage.upstream.records.last?.serverName == Self.name)
    #expect(stage.recorded.contains("GET /base/x HTTP/1.1\r\nHost: \(authority)\r\n"))
    #expect(stage.log.wait(for: .request, ["upstream": "https://\(authority)"]))
    stage.assertCanary(times: 1)
  }

  @Test func `T24: a certificate for the host that bearerd connects to is refused`() throws {
    let stage = try Stage()
    // The certificate is for localhost and 127.0.0.1.
    try stage.start(try configuration(stage, host: "127.0.0.1").0)
    let response = try stage.get()
    #expect(response.status == 502 && response.text.contains("urn:bearerd:error:hostname-mismatch"))
    #expect(stage.log.wait(for: .request))
    let detail = stage.log.lines(of: .request).last?["detail"] ?? ""
    #expect(detail.hasPrefix("at 127.0.0.1:\(stage.upstream.port): "), "\(detail)")
    #expect(stage.upstream.finish().allSatisfy { $0.bytes.isEmpty })
    stage.assertCanary(times: 0)
  }

  @Test func `T25: two services with the same server name and different hosts share no connection`() throws {
    let stage = try Stage { connection in while connection.head() != nil { connection.respond("first") } }
    var options = UpstreamServer.Options()
    (options.address, options.port) = ("127.0.0.2", stage.upstream.port)
    let other = """
        other:
          upstream: https://127.0.0.2:\(stage.upstream.port)/base/
          server_name: \(Self.name)
          ca_file: ca.pem
          pins: [PINS]
          credential: canary
      """
    let (text, leaf) = try configuration(stage, host: "127.0.0.1", services: other)
    try stage.upstream.replaceCertificates([leaf])
    let second = try UpstreamServer(chain: [leaf], options: options) { connection in
      while connection.head() != nil { connection.respond("second") }
    }
    defer { second.stop() }
    try stage.start(text)
    for _ in 0..<2 {
      #expect(try stage.get("/api/x").text == "first")
      #expect(try stage.get("/other/x").text == "second")
    }
    stage.assertCanary(times: 2)
  }
}
