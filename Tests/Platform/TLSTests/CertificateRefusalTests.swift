import TestServer
import Policy
import TLS
import TestSupport
import Testing

/// Certificates of servers (T24, T22). Each refused chain has exactly one defect, and the server receives no byte.
@Suite struct CertificateRefusalTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var host = "upstream.test"
    let expected: TLSError.Kind?
    /// The chain that the server sends, and the trusted certificate.
    let chain: @Sendable (Authority) throws -> (send: [Certificate], trust: Certificate)
    var version: Int32?
  }

  static let rows: [Row] = [
    Row("the right name and chain", nil) { try ($0.leaf(), $0) },
    Row("the right name, in capitals in the certificate", nil) { try ($0.leaf(["UPSTREAM.Test"]), $0) },
    Row("RSA", nil) { try ($0.leaf { $0.key = .rsa2048 }, $0) },
    Row("Ed25519", nil) { try ($0.leaf { $0.key = .ed25519 }, $0) },
    Row("a wildcard of one label", host: "a.upstream.test", nil) { try ($0.leaf(["*.upstream.test"]), $0) },
    Row("an address", host: "127.0.0.1", nil) { try ($0.leaf([]) { $0.ipAddresses = ["127.0.0.1"] }, $0) },

    Row("another name", .hostnameMismatch) { try ($0.leaf(["other.test"]), $0) },
    Row("our name as a label of another", .hostnameMismatch) { try ($0.leaf(["upstream.test.evil.test"]), $0) },
    Row("a name above ours", host: "a.upstream.test", .hostnameMismatch) { try ($0.leaf(["upstream.test"]), $0) },
    Row("our name as CN only, without alternative names", .hostnameMismatch) {
      try ($0.leaf([]) { $0.commonName = "upstream.test" }, $0)
    },
    Row("our name as CN beside another alternative name", .hostnameMismatch) {
      try ($0.leaf(["other.test"]) { $0.commonName = "upstream.test" }, $0)
    },
    Row("a wildcard two labels deep", host: "a.b.upstream.test", .hostnameMismatch) {
      try ($0.leaf(["*.upstream.test"]), $0)
    },
    Row("a wildcard for its own parent", .hostnameMismatch) { try ($0.leaf(["*.upstream.test"]), $0) },
    Row("a wildcard for a top-level domain", .hostnameMismatch) { try ($0.leaf(["*.test"]), $0) },
    Row("a partial wildcard", .hostnameMismatch) { try ($0.leaf(["up*.test", "*stream.upstream.test"]), $0) },
    Row("a partial wildcard below", host: "abc.upstream.test", .hostnameMismatch) {
      try ($0.leaf(["a*.upstream.test"]), $0)
    },
    Row("another address", host: "127.0.0.1", .hostnameMismatch) {
      try ($0.leaf([]) { $0.ipAddresses = ["127.0.0.2"] }, $0)
    },
    Row("an address as a DNS name", host: "127.0.0.1", .hostnameMismatch) { try ($0.leaf(["127.0.0.1"]), $0) },
    Row("an address as CN", host: "127.0.0.1", .hostnameMismatch) {
      try ($0.leaf([]) { $0.commonName = "127.0.0.1" }, $0)
    },

    Row("expired", .certificateExpired) { try ($0.leaf { $0.notAfter = -60 }, $0) },
    Row("not valid yet", .certificateExpired) { try ($0.leaf { $0.notBefore = 600 }, $0) },
    Row("for clients", .certificateInvalid) { try ($0.leaf { $0.serverAuth = false }, $0) },
    Row("a weak key", .certificateInvalid) { try ($0.leaf { $0.key = .rsa1024 }, $0) },
    Row("a name outside the authority's constraints", .certificateInvalid) { authority in
      var options = Certificate.Options()
      options.isCA = true
      options.commonName = "constrained"
      options.nameConstraints = "permitted;DNS:elsewhere.test"
      let constrained = try Certificate(options, issuer: authority.root)
      var leaf = Certificate.Options()
      leaf.dnsNames = ["upstream.test"]
      return ([try Certificate(leaf, issuer: constrained), constrained], authority.root)
    },
    Row("a leaf that signs a leaf", .certificateInvalid) { authority in
      let middle = try authority.leaf()
      var options = Certificate.Options()
      options.dnsNames = ["upstream.test"]
      return ([try Certificate(options, issuer: middle), middle, authority.intermediate], authority.root)
    },
    Row("without its intermediate", .certificateInvalid) { try ([$0.leaf()], $0.root) },
    Row("self-signed, unknown", .certificateInvalid) { try ([selfSigned()], $0.root) },
    Row("of another authority", .certificateInvalid) { authority in
      let other = try Authority("Other")
      return ([try other.leaf(), other.intermediate, other.root], authority.root)
    },
    Row("of an authority with the same names", .certificateInvalid) { authority in
      let other = try Authority()
      return ([try other.leaf(), other.intermediate], authority.root)
    },

    // Every certificate in a ca_file is a trust anchor.
    Row("self-signed, trusted itself", nil) { _ in
      let certificate = try selfSigned()
      return ([certificate], certificate)
    },
    Row("self-signed, trusted itself, wrong name", host: "other.test", .hostnameMismatch) { _ in
      let certificate = try selfSigned()
      return ([certificate], certificate)
    },
    Row("self-signed, trusted itself, expired", .certificateExpired) { _ in
      let certificate = try selfSigned { $0.notAfter = -60 }
      return ([certificate], certificate)
    },
    Row("the intermediate alone is trusted", nil) { authority in
      ([try authority.leaf(), authority.intermediate], authority.intermediate)
    },
    Row("the leaf alone is trusted", nil) { authority in
      let leaf = try authority.leaf()
      return ([leaf], leaf)
    },

    Row("TLS 1.2", nil, version: 0x0303) { try ($0.leaf(), $0) },
    Row("TLS 1.2, another name", .hostnameMismatch, version: 0x0303) { try ($0.leaf(["other.test"]), $0) },
    Row("TLS 1.1", .handshakeFailed, version: 0x0302) { try ($0.leaf(), $0) },
    Row("TLS 1.0", .handshakeFailed, version: 0x0301) { try ($0.leaf(), $0) },
  ]

  @Test(arguments: rows) func `a certificate is accepted only if its chain, name, time and key are valid`(row: Row)
    throws
  {
    let authority = try Authority()
    let (send, trust) = try row.chain(authority)
    var options = UpstreamServer.Options()
    options.tlsVersion = row.version
    let server = try UpstreamServer(chain: send, options: options, handler: echo)
    defer { server.stop() }
    let context = try context(try TrustStore(pem: Array(trust.pem.utf8), name: "trust"), host: row.host)

    guard let expected = row.expected else {
      var client = try Client.connect(context, port: server.port)
      #expect(try client.exchange("hello") == "hello")
      client.closeNotify()
      let record = try #require(server.finish().first)
      #expect(record.bytes == Array("hello".utf8))
      #expect(record.serverName == (row.host == "127.0.0.1" ? nil : row.host))
      return
    }
    let error = try #require(throws: TLSError.self) { _ = try Client.connect(context, port: server.port) }
    #expect(error.kind == expected, "\(error)")
    let records = server.finish()
    #expect(records.count == 1)
    #expect(records.allSatisfy { !$0.handshakeCompleted && $0.bytes.isEmpty })
    #expect(context.statistics.kept == 0)
  }

  @Test func `the error for a wrong name lists the expected name and the certificate's names`() throws {
    let authority = try Authority()
    let server = try UpstreamServer(chain: [try authority.leaf(["other.test"]), authority.intermediate], handler: echo)
    defer { server.stop() }
    let context = try context(authority.store())
    let error = try #require(throws: TLSError.self) { _ = try Client.connect(context, port: server.port) }
    #expect(error.detail.contains("not for upstream.test"))
    #expect(error.detail.contains("DNS:other.test"))
    #expect(error.description.hasPrefix("certificate for another name: "))
  }

  @Test func `an error shows the text of a certificate without control characters`() throws {
    let authority = try Authority()
    // OpenSSL escapes control characters in a subject, but not in an alternative name.
    let leaf = try authority.leaf(["other.test", "c\u{1B}[31md"]) { $0.commonName = "a\u{1B}[31m\nb" }
    let server = try UpstreamServer(chain: [leaf, authority.intermediate], handler: echo)
    defer { server.stop() }
    let context = try context(authority.store())
    let error = try #require(throws: TLSError.self) { _ = try Client.connect(context, port: server.port) }
    #expect(error.detail.utf8.allSatisfy { (0x20...0x7E).contains($0) })
    #expect(error.detail.contains("c?[31md"))
  }
}

extension CertificateRefusalTests.Row {
  init(
    _ description: String, host: String = "upstream.test", _ expected: TLSError.Kind?, version: Int32? = nil,
    chain: @escaping @Sendable (Authority) throws -> ([Certificate], Certificate)
  ) {
    self.init(testDescription: description, host: host, expected: expected, chain: chain, version: version)
  }

  /// The server sends the leaf and the intermediate. The root is trusted.
  init(
    _ description: String, host: String = "upstream.test", _ expected: TLSError.Kind?, version: Int32? = nil,
    leaf: @escaping @Sendable (Authority) throws -> (Certificate, Authority)
  ) {
    self.init(description, host: host, expected, version: version) { authority in
      ([try leaf(authority).0, authority.intermediate], authority.root)
    }
  }
}
