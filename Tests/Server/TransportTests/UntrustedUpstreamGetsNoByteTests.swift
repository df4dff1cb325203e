import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// The chain, the name and the enforced pins of an upstream are verified before bearerd sends the first byte.
@Suite(.inProcess) struct UntrustedUpstreamGetsNoByte {
  /// An upstream, and the pins in the configuration.
  struct Upstream {
    /// `nil` for the certificate of the stage.
    var chain: [Certificate]?
    /// `nil` for the pins of this certificate and of a backup key.
    var pins: [String]?
  }

  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// The error code. `nil` if the upstream is accepted.
    var code: String?
    var service = ""
    /// The number of `pin` events in the log.
    var events = 0
    let upstream: @Sendable (Stage) throws -> Upstream

    init(
      _ description: String, _ code: String? = nil, service: String = "", events: Int = 0,
      upstream: @escaping @Sendable (Stage) throws -> Upstream
    ) {
      testDescription = description
      (self.code, self.service, self.events, self.upstream) = (code, service, events, upstream)
    }
  }

  private static func certificate(
    _ issuer: Certificate?, reusing key: Certificate? = nil, _ change: (inout Certificate.Options) -> Void = { _ in }
  ) throws -> Certificate {
    var options = Certificate.Options()
    options.commonName = "upstream"
    options.dnsNames = ["localhost"]
    options.ipAddresses = ["127.0.0.1", "::1"]
    change(&options)
    return try Certificate(options, issuer: issuer, reusingKeyOf: key)
  }

  /// A certificate with the pinned key of the stage.
  private static func reusing(_ stage: Stage, _ change: (inout Certificate.Options) -> Void = { _ in }) throws
    -> Upstream
  {
    Upstream(chain: [try certificate(stage.ca, reusing: stage.leaf, change)])
  }

  private static func anyPins() throws -> [String] {
    [try Certificate(Certificate.Options()).pin, try Certificate(Certificate.Options()).pin]
  }

  /// Except for the rows about pins, each upstream has the pinned key.
  static let refused = [
    Row("a certificate for another name", "hostname-mismatch") { try reusing($0) { $0.dnsNames = ["other.test"] } },
    Row("the right name only in the common name, beside another name", "hostname-mismatch") {
      try reusing($0) {
        $0.commonName = "localhost"
        $0.dnsNames = ["other.test"]
      }
    },
    Row("the right name only in the common name", "hostname-mismatch") {
      try reusing($0) {
        $0.commonName = "localhost"
        $0.dnsNames = []
        $0.ipAddresses = []
      }
    },
    Row("an expired certificate", "certificate-expired") { try reusing($0) { $0.notAfter = -60 } },
    Row("a certificate that is not yet valid", "certificate-expired") { try reusing($0) { $0.notBefore = 600 } },
    Row("a self-signed certificate", "certificate-invalid") {
      Upstream(chain: [try certificate(nil, reusing: $0.leaf)])
    },
    Row("an authority that is not trusted", "certificate-invalid") {
      let other = try certificate(nil) { $0.isCA = true }
      return Upstream(chain: [try certificate(other, reusing: $0.leaf), other])
    },
    Row("a certificate that is not for servers", "certificate-invalid") { try reusing($0) { $0.serverAuth = false } },
    Row("a chain without its intermediate certificate", "certificate-invalid") {
      let intermediate = try certificate($0.ca) { $0.isCA = true }
      return Upstream(chain: [try certificate(intermediate, reusing: $0.leaf)])
    },
    Row("a weak key", "certificate-invalid") {
      Upstream(chain: [try certificate($0.ca) { $0.key = .rsa1024 }], pins: try anyPins())
    },
    Row("a valid chain that is not pinned", "pin-mismatch") {
      Upstream(pins: [try Stage.leaf(issuer: $0.ca).pin, $0.backup.pin])
    },
    Row("a pinned authority that is sent, but did not issue the certificate", "pin-mismatch") {
      let authority = try certificate(nil) { $0.isCA = true }
      return Upstream(chain: [$0.leaf, authority], pins: [authority.pin, $0.backup.pin])
    },
    Row("the digest of a certificate in place of its pin", "pin-mismatch") {
      Upstream(pins: [$0.leaf.fingerprint, $0.backup.pin])
    },
  ]

  @Test(arguments: refused)
  func `T22 T23 T24: an untrusted upstream gets no byte`(row: Row) throws {
    let stage = try Stage()
    let upstream = try row.upstream(stage)
    if let chain = upstream.chain { try stage.upstream.replaceCertificates(chain) }
    try stage.start(stage.configuration(pins: upstream.pins))
    let response = try stage.get()
    let code = try #require(row.code)
    #expect(response.status == 502)
    #expect(response.text.contains("urn:bearerd:error:\(code)\""), "\(response.text)")
    #expect(response.values("Proxy-Status") == ["bearerd; error=tls_certificate_error; details=\"\(code)\""])
    let records = stage.upstream.finish()
    #expect(records.count == 1, "it was asked")
    #expect(records.allSatisfy { $0.bytes.isEmpty })
    stage.assertCanary(times: 0)
  }

  @Test func `T22: an upstream whose pins have expired gets no request`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(service: "pins_expire: 2020-01-01"))
    let response = try stage.get()
    #expect(response.status == 502 && response.text.contains("pins-expired"))
    #expect(stage.upstream.finish().allSatisfy { $0.bytes.isEmpty })
    stage.assertCanary(times: 0)
  }

  @Test(arguments: [true, false])
  func `T29: an upstream with an old TLS version or without TLS is refused`(isPlain: Bool) throws {
    var options = UpstreamServer.Options()
    if isPlain { options.isPlain = true } else { options.tlsVersion = 0x0302 }
    // Without TLS, the upstream responds to the first bytes of the handshake.
    let stage = try Stage(options: options) { connection in
      _ = try? connection.read()
      try? connection.write(Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".utf8))
    }
    try stage.start()
    let response = try stage.get()
    #expect(response.status == 502 && response.text.contains("urn:bearerd:error:tls-handshake-failed"))
    let records = stage.upstream.finish()
    #expect(isPlain || records.allSatisfy { $0.bytes.isEmpty })
    #expect(!stage.recorded.contains("GET"))
    stage.assertCanary(times: 0)
  }

  static let accepted = [
    Row("a pin of the leaf") { Upstream(pins: [$0.leaf.pin, $0.backup.pin]) },
    Row("a pin of the root") { Upstream(pins: [$0.ca.pin, $0.backup.pin]) },
    Row("a pin of an intermediate") {
      let intermediate = try certificate($0.ca) { $0.isCA = true }
      return Upstream(chain: [try certificate(intermediate), intermediate], pins: [intermediate.pin, $0.backup.pin])
    },
    Row("a renewed certificate with the same key") { try reusing($0) },
    Row("a renewed certificate with the backup key") { Upstream(chain: [$0.backup]) },
    Row("a pin mismatch in report mode", service: "pin_mode: report", events: 1) { _ in
      Upstream(pins: try anyPins())
    },
  ]

  @Test(arguments: accepted)
  func `T22: a trusted upstream gets the request, and only a reported mismatch is logged`(row: Row) throws {
    let stage = try Stage()
    let upstream = try row.upstream(stage)
    if let chain = upstream.chain { try stage.upstream.replaceCertificates(chain) }
    try stage.start(stage.configuration(service: row.service, pins: upstream.pins))
    let response = try stage.get()
    #expect(response.status == 200, "\(response.text)")
    // The `pin` event precedes the event of the request.
    stage.log.wait(for: .request)
    #expect(stage.log.lines(of: .pin).count == row.events)
    stage.assertCanary(times: 1)
  }
}
