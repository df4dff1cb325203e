import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// The chain, the name and the enforced pins of an upstream are verified before bearerd sends the first byte.
@Suite(.waits) struct UntrustedUpstreamGetsNoByte {
  /// Checks that an upstream with this certificate chain is refused. Without `ca`, `stage.ca` is trusted.
  private func refuse(
    _ code: String, status: Int = 502, pins: ((Stage) throws -> [String])? = nil, service: String = "",
    options: UpstreamServer.Options = .init(), ca: ((Stage) -> String)? = nil,
    sourceLocation: SourceLocation = #_sourceLocation, chain: (Stage) throws -> [Certificate]?
  ) throws {
    let stage = try Stage(options: options)
    if let chain = try chain(stage) { try stage.upstream.replaceCertificates(chain) }
    if let ca { try stage.scratch.write("ca.pem", ca(stage)) }
    try stage.start(stage.configuration(service: service, pins: try pins?(stage)))
    let response = try stage.get()
    #expect(response.status == status, sourceLocation: sourceLocation)
    #expect(response.text.contains("urn:bearerd:error:\(code)\""), "\(response.text)", sourceLocation: sourceLocation)
    let records = stage.upstream.finish()
    #expect(records.count == 1, "it was asked", sourceLocation: sourceLocation)
    #expect(records.allSatisfy { $0.bytes.isEmpty }, sourceLocation: sourceLocation)
    stage.assertCanary(times: 0, sourceLocation: sourceLocation)
  }

  private func certificate(
    _ issuer: Certificate?, reusing key: Certificate? = nil, _ change: (inout Certificate.Options) -> Void
  ) throws -> Certificate {
    var options = Certificate.Options()
    options.commonName = "upstream"
    options.dnsNames = ["localhost"]
    options.ipAddresses = ["127.0.0.1", "::1"]
    change(&options)
    return try Certificate(options, issuer: issuer, reusingKeyOf: key)
  }

  @Test func `T24: a certificate for another name is refused`() throws {
    try refuse("hostname-mismatch") { [try certificate($0.ca, reusing: $0.leaf) { $0.dnsNames = ["other.test"] }] }
  }

  @Test func `T24: a certificate with the right name only in the common name is refused`() throws {
    try refuse("hostname-mismatch") {
      [
        try certificate($0.ca, reusing: $0.leaf) {
          $0.commonName = "localhost"
          $0.dnsNames = ["other.test"]
        }
      ]
    }
    try refuse("hostname-mismatch") {
      [
        try certificate($0.ca, reusing: $0.leaf) {
          $0.commonName = "localhost"
          $0.dnsNames = []
          $0.ipAddresses = []
        }
      ]
    }
  }

  @Test func `T22: a pinned key is refused if its certificate has expired or is not yet valid`() throws {
    try refuse("certificate-expired") { [try certificate($0.ca, reusing: $0.leaf) { $0.notAfter = -60 }] }
    try refuse("certificate-expired") { [try certificate($0.ca, reusing: $0.leaf) { $0.notBefore = 600 }] }
  }

  @Test func `T22: a pinned key in a self-signed certificate is refused`() throws {
    try refuse("certificate-invalid") { [try certificate(nil, reusing: $0.leaf) { _ in }] }
  }

  @Test func `T22: a pinned key is refused if its certificate authority is not trusted`() throws {
    try refuse("certificate-invalid") {
      let other = try certificate(nil) { $0.isCA = true }
      return [try certificate(other, reusing: $0.leaf) { _ in }, other]
    }
  }

  @Test func `T24: a certificate that is not for servers is refused`() throws {
    try refuse("certificate-invalid") { [try certificate($0.ca, reusing: $0.leaf) { $0.serverAuth = false }] }
  }

  @Test func `T24: a chain without its intermediate certificate is refused`() throws {
    try refuse("certificate-invalid") {
      let intermediate = try certificate($0.ca) { $0.isCA = true }
      return [try certificate(intermediate, reusing: $0.leaf) { _ in }]
    }
  }

  @Test func `T24: a weak key is refused`() throws {
    try refuse("certificate-invalid", pins: { _ in try Self.anyPins() }) {
      [try certificate($0.ca) { $0.key = .rsa1024 }]
    }
  }

  @Test func `T22: a pinned authority that is sent but did not issue the certificate does not satisfy the pin`() throws
  {
    var pinned: Certificate?
    try refuse(
      "pin-mismatch", pins: { stage in [try #require(pinned).pin, stage.backup.pin] },
      chain: { stage in
        let authority = try certificate(nil) { $0.isCA = true }
        pinned = authority
        return [stage.leaf, authority]
      })
  }

  @Test func `T22: the digest of a certificate does not count as a pin`() throws {
    try refuse("pin-mismatch", pins: { [$0.leaf.fingerprint, $0.backup.pin] }) { _ in nil }
  }

  @Test func `T22: an upstream whose pins have expired gets no request`() throws {
    let stage = try Stage()
    let configuration = stage.configuration(service: "pins_expire: 2020-01-01")
    let file = try stage.scratch.write("bearerd.yaml", configuration, mode: 0o644)
    let result = try? RunningDaemon(configuration: file)
    // The daemon may refuse to start. If it starts, requests are refused.
    if result != nil {
      try stage.start(configuration)
      let response = try stage.get()
      #expect(response.status == 502 && response.text.contains("pins-expired"))
    }
    #expect(stage.upstream.finish().allSatisfy { $0.bytes.isEmpty })
    stage.assertCanary(times: 0)
  }

  @Test func `T29: an upstream with an old TLS version or without TLS is refused`() throws {
    var old = UpstreamServer.Options()
    old.tlsVersion = 0x0302
    try refuse("tls-handshake-failed", options: old) { _ in nil }

    var plain = UpstreamServer.Options()
    plain.isPlain = true
    // Responds to the handshake without TLS.
    let stage = try Stage(options: plain) { connection in
      _ = try? connection.read()
      try? connection.write(Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".utf8))
    }
    try stage.start()
    let response = try stage.get()
    #expect(response.status == 502 && response.text.contains("urn:bearerd:error:tls-handshake-failed"))
    stage.upstream.finish()
    #expect(!stage.recorded.contains("GET"))
    stage.assertCanary(times: 0)
  }

  @Test func `T29: a credential for a plain HTTP upstream is a configuration error`() throws {
    let stage = try Stage()
    for upstream in ["http://127.0.0.1:\(stage.upstream.port)/", "http://example.com/", "http://localhost:1/"] {
      let result = try stage.fail(
        stage.configuration().replacing("\(stage.origin)/base/", with: upstream))
      #expect(result.status == 2, "\(upstream)")
      #expect(result.errors.contains("refused.yaml:"), "\(upstream)")
    }
    stage.assertCanary(times: 0)
  }

  private static func anyPins() throws -> [String] {
    [try Certificate(Certificate.Options()).pin, try Certificate(Certificate.Options()).pin]
  }

  // MARK: accepted upstreams

  private func accept(
    events: Int = 0, service: String = "", pins: (Stage) throws -> [String],
    sourceLocation: SourceLocation = #_sourceLocation, chain: (Stage) throws -> [Certificate]?
  ) throws {
    let stage = try Stage()
    if let chain = try chain(stage) { try stage.upstream.replaceCertificates(chain) }
    try stage.start(stage.configuration(service: service, pins: try pins(stage)))
    let response = try stage.get()
    #expect(response.status == 200, "\(response.text)\n\(stage.log)", sourceLocation: sourceLocation)
    // The `pin` event precedes the line of the request.
    stage.log.wait(for: .request)
    let seen = stage.log.lines(of: .pin).count
    #expect(seen == events, "\(stage.log)", sourceLocation: sourceLocation)
    stage.assertCanary(times: 1, sourceLocation: sourceLocation)
  }

  @Test func `T22: a pin of the leaf, an intermediate or the root is accepted`() throws {
    try accept(pins: { [$0.leaf.pin, $0.backup.pin] }) { _ in nil }
    try accept(pins: { [$0.ca.pin, $0.backup.pin] }) { _ in nil }
    var intermediateCA: Certificate?
    try accept(
      pins: { [try #require(intermediateCA).pin, $0.backup.pin] },
      chain: { stage in
        let intermediate = try certificate(stage.ca) { $0.isCA = true }
        intermediateCA = intermediate
        return [try certificate(intermediate) { _ in }, intermediate]
      })
  }

  @Test func `T22: a renewed certificate with the same key or the backup key is accepted`() throws {
    try accept(pins: { [$0.leaf.pin, $0.backup.pin] }) { [try certificate($0.ca, reusing: $0.leaf) { _ in }] }
    try accept(pins: { [$0.leaf.pin, $0.backup.pin] }) { [$0.backup] }
  }

  @Test func `T22: in report mode, a pin mismatch is logged once and the request is sent`() throws {
    try accept(events: 1, service: "pin_mode: report", pins: { _ in try Self.anyPins() }) { _ in nil }
  }

  @Test func `T30: the environment does not change trust, and does not write TLS keys to a file`() throws {
    let stage = try Stage()
    try stage.scratch.write("other-ca.pem", try certificate(nil) { $0.isCA = true }.pem)
    let path = stage.scratch.path
    try stage.scratch.write(
      "openssl.cnf",
      """
      openssl_conf = init
      [init]
      ssl_conf = ssl
      [ssl]
      system_default = default
      [default]
      MinProtocol = TLSv1
      VerifyMode = None
      CipherString = ALL:@SECLEVEL=0
      """)
    // The upstream's authority is only in the environment, so it is not trusted.
    let configuration = stage.configuration().replacing("ca_file: ca.pem", with: "ca_file: other-ca.pem")
    let dead = "http://127.0.0.1:1"
    try stage.start(
      configuration,
      environment: [
        "SSL_CERT_FILE": path + "/ca.pem", "SSL_CERT_DIR": path, "OPENSSL_CONF": path + "/openssl.cnf",
        "SSLKEYLOGFILE": path + "/keys.log", "HTTPS_PROXY": dead, "https_proxy": dead, "ALL_PROXY": dead,
      ])
    #expect(try stage.get().text.contains("certificate-invalid"))
    #expect(stage.upstream.records.allSatisfy { $0.bytes.isEmpty })
    // With the authority in the configuration, the request is served, without the proxy in the environment.
    try stage.reload(stage.configuration())
    #expect(try stage.get().status == 200)
    // The environment does not replace the system's trust store, either.
    try stage.reload(configuration.replacing("    ca_file: other-ca.pem\n", with: ""))
    #expect(try stage.get().status >= 500)
    #expect(!FileManager.default.fileExists(atPath: path + "/keys.log"))
    stage.assertCanary(times: 1)
  }
}
