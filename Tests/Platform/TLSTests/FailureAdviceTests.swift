import Dispatch
import Policy
import Primitives
import TLS
import TestServer
import TestSupport
import Testing

/// The log's `detail` of a failed connection names the cause and the next step.
@Suite struct FailureAdviceTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let facts: [String]
    /// The chain that the server sends, and the trusted certificate.
    let chain: @Sendable (Authority) throws -> (send: [Certificate], trust: Certificate)

    init(
      _ description: String, _ facts: [String],
      chain: @escaping @Sendable (Authority) throws -> ([Certificate], Certificate)
    ) {
      (testDescription, self.facts, self.chain) = (description, facts, chain)
    }
  }

  private static func expiring(_ name: String, issuer: Certificate?, ended: Bool) throws -> Certificate {
    var options = Certificate.Options()
    (options.commonName, options.isCA, options.notAfter) = (name, true, ended ? -86_400 * 40 : 86_400)
    options.notBefore = -86_400 * 50
    return try Certificate(options, issuer: issuer)
  }

  /// A leaf of an intermediate, of which the root or the intermediate has expired.
  private static func chain(expired: String) throws -> ([Certificate], Certificate) {
    let root = try expiring("Root", issuer: nil, ended: expired == "Root")
    let intermediate = try expiring("R11", issuer: root, ended: expired == "R11")
    var options = Certificate.Options()
    options.dnsNames = ["upstream.test"]
    return ([try Certificate(options, issuer: intermediate), intermediate], root)
  }

  private static let rows: [Row] = [
    Row("no intermediate", ["sent no intermediate", "issuer CN=Test Intermediate", "ca_file", "root"]) {
      ([try $0.leaf()], $0.root)
    },
    Row("the wrong intermediate", ["sent 2 certificates", "issuer CN=Test Intermediate", "ca_file"]) {
      ([try $0.leaf(), try Authority("Other").intermediate], $0.root)
    },
    Row("an unknown root, not sent", ["CN=Other Intermediate", "CN=Other Root", "ca_file", "attacker"]) {
      let other = try Authority("Other")
      return ([try other.leaf(), other.intermediate], $0.root)
    },
    Row("an unknown root, sent", ["CN=Other Root", "not trusted", "ca_file", "attacker"]) {
      let other = try Authority("Other")
      return ([try other.leaf(), other.intermediate, other.root], $0.root)
    },
    Row("self-signed", ["CN=demo", "self-signed", "ca_file", "attacker"]) { ([try selfSigned()], $0.root) },
    Row("an expired authority that the server sends", ["authority CN=R11 expired on", "clock", "operator"]) { _ in
      try chain(expired: "R11")
    },
    Row("an expired authority in ca_file", ["authority CN=Root expired on", "clock", "ca_file"]) { _ in
      try chain(expired: "Root")
    },
    Row("expired", ["CN=leaf", "expired on", "clock", "renew"]) {
      ([try $0.leaf { $0.notAfter = -60 }, $0.intermediate], $0.root)
    },
    Row("not valid yet", ["CN=leaf", "valid only from", "clock"]) {
      ([try $0.leaf { $0.notBefore = 600 }, $0.intermediate], $0.root)
    },
    Row("another name", ["not for upstream.test", "CN=leaf", "DNS:other.test", "DNS:www.other.test", "`upstream`"]) {
      ([try $0.leaf(["other.test", "www.other.test"]), $0.intermediate], $0.root)
    },
    Row("no name", ["not for upstream.test", "CN=upstream.test names no host", "RFC 9525"]) {
      ([try $0.leaf([]) { $0.commonName = "upstream.test" }, $0.intermediate], $0.root)
    },
    Row("a weak key", ["CN=leaf", "RSA 1024", "2048"]) {
      ([try $0.leaf { $0.key = .rsa1024 }, $0.intermediate], $0.root)
    },
    Row("a weak key of an authority", ["authority CN=R11", "RSA 1024", "2048"]) { authority in
      var options = Certificate.Options()
      (options.commonName, options.isCA, options.key) = ("R11", true, .rsa1024)
      let weak = try Certificate(options, issuer: authority.root)
      var leaf = Certificate.Options()
      leaf.dnsNames = ["upstream.test"]
      return ([try Certificate(leaf, issuer: weak), weak], authority.root)
    },
    Row("a weak signature", ["CN=leaf", "SHA1", "SHA-256"]) {
      ([try $0.leaf { $0.hasWeakSignature = true }, $0.intermediate], $0.root)
    },
    Row("for clients", ["CN=leaf", "may not be used for a server"]) {
      ([try $0.leaf { $0.serverAuth = false }, $0.intermediate], $0.root)
    },
  ]

  private func error(
    _ context: ClientContext, _ server: UpstreamServer, _ use: (inout Client) throws -> Void = { _ in }
  ) throws -> TLSError {
    try #require(throws: TLSError.self) {
      var client = try Client.connect(context, port: server.port)
      try use(&client)
    }
  }

  @Test(arguments: rows) func `the error names the rejected certificate, the cause and the next step`(row: Row) throws {
    let (send, trust) = try row.chain(try Authority())
    let server = try UpstreamServer(chain: send, handler: echo)
    defer { server.stop() }
    let store = try TrustStore(pem: Array(trust.pem.utf8), name: "trust")
    let error = try error(context(store), server)
    for fact in row.facts {
      #expect(error.detail.lowercased().contains(fact.lowercased()), "\(fact): \(error.detail)")
    }
    #expect(error.detail.utf8.allSatisfy { (0x20...0x7E).contains($0) })
    // The log cuts longer values.
    #expect(error.detail.utf8.count < 2_048)
  }

  @Test func `the error has the date on which an authority expired`() throws {
    let (send, trust) = try Self.chain(expired: "R11")
    let server = try UpstreamServer(chain: send, handler: echo)
    defer { server.stop() }
    let store = try TrustStore(pem: Array(trust.pem.utf8), name: "trust")
    let detail = try error(context(store), server).detail
    let end = try #require(Certificates.describe(file: Array(send[1].pem.utf8)).first?.notAfter)
    #expect(detail.contains(CivilTime.time(of: end)), "\(detail)")
    #expect(detail.contains("clock of this machine says \(CivilTime.day(of: unixTime()))"), "\(detail)")
  }

  @Test func `the error stays short if the certificate has many and long names`() throws {
    let authority = try Authority()
    let names = (0..<200).map { "\($0)." + String(repeating: "a", count: 60) + ".test" }
    let leaf = try authority.leaf(names) { $0.commonName = String(repeating: "n", count: 64) }
    let server = try UpstreamServer(chain: [leaf, authority.intermediate], handler: echo)
    defer { server.stop() }
    #expect(try error(context(authority.store()), server).detail.utf8.count < 1_024)
  }

  // MARK: the handshake

  @Test(
    arguments: [
      ("HTTP/1.1 400 Bad Request\r\n\r\n", ["plain HTTP", "HTTP/1.1"]), ("<html>", ["does not speak TLS", "<html>"]),
      ("SSH-2.0-OpenSSH\r\n", ["does not speak TLS", "SSH-2.0-"]),
      ("\u{1B}[31m\r\n", ["does not speak TLS", "?[31m??"]),
      ("", ["sent nothing"]),
    ])
  func `the error names a server that does not speak TLS`(_ response: String, _ facts: [String]) throws {
    var options = UpstreamServer.Options()
    options.isPlain = true
    let server = try UpstreamServer(chain: [], options: options) { connection in
      _ = try? connection.read()
      try? connection.write(Array(response.utf8))
    }
    defer { server.stop() }
    let detail = try error(context(Authority().store()), server).detail
    for fact in facts { #expect(detail.contains(fact), "\(detail)") }
  }

  @Test func `the error names old TLS versions and ciphers`() throws {
    let authority = try Authority()
    let leaf = try authority.leaf { $0.key = .rsa2048 }
    let rows: [(version: Int32, ciphers: String?, facts: [String])] = [
      (0x0301, nil, ["TLS 1.2", "protocol version"]), (0x0302, nil, ["TLS 1.2", "protocol version"]),
      (0x0303, "AES128-SHA", ["ciphers", "ECDHE with AES-GCM", "handshake failure"]),
    ]
    for (version, ciphers, facts) in rows {
      var options = UpstreamServer.Options()
      (options.tlsVersion, options.ciphers) = (version, ciphers)
      let server = try UpstreamServer(chain: [leaf, authority.intermediate], options: options, handler: echo)
      defer { server.stop() }
      let error = try error(context(authority.store()), server)
      #expect(error.kind == .handshakeFailed)
      for fact in facts { #expect(error.detail.contains(fact), "\(error.detail)") }
    }
  }

  /// A ServerHello (RFC 5246 section 7.4.1.3) without extensions.
  private static func hello(version: UInt8, cipher: [UInt8]) -> [UInt8] {
    let body = [3, version] + Array(repeating: 7, count: 32) + [0] + cipher + [0]
    return [0x16, 3, version, 0, UInt8(body.count + 4), 2, 0, 0, UInt8(body.count)] + body
  }

  @Test(
    arguments: [
      ([3], [0xC0, 0x2F], ["RFC 5746", "secure renegotiation", "operator"]),
      ([2], [0xC0, 0x13], ["TLS 1.2", "unsupported protocol"]),
      ([1], [0xC0, 0x13], ["TLS 1.2", "unsupported protocol"]),
      ([3], [0x00, 0x2F], ["ECDHE with AES-GCM"]),
    ] as [([UInt8], [UInt8], [String])])
  func `the error explains a ServerHello that bearerd does not accept`(
    _ version: [UInt8], _ cipher: [UInt8], _ facts: [String]
  ) throws {
    var handshake = try context(Authority().store()).handshake(sink: NullSink(), now: moment())
    _ = try handshake.advance([UInt8]().span)
    var failure: TLSError?
    do throws(TLSError) {
      _ = try handshake.advance(Self.hello(version: version[0], cipher: cipher).span)
    } catch {
      failure = error
    }
    #expect(failure?.kind == .handshakeFailed)
    for fact in facts { #expect(failure?.detail.contains(fact) == true, "\(String(describing: failure))") }
  }

  // MARK: client certificates

  private static let versions: [Int32] = [0x0303, 0x0304]

  private func serverThatRequiresCertificate(_ authority: Authority, version: Int32) throws -> UpstreamServer {
    var options = UpstreamServer.Options()
    (options.tlsVersion, options.clientAuthorities) = (version, [authority.root])
    options.requiresClientCertificate = true
    return try UpstreamServer(chain: [authority.leaf(), authority.intermediate], options: options, handler: echo)
  }

  @Test(arguments: versions) func `the error says that the server requires a client certificate`(version: Int32) throws
  {
    let authority = try Authority()
    let server = try serverThatRequiresCertificate(authority, version: version)
    defer { server.stop() }
    let detail = try error(context(authority.store()), server) { _ = try $0.exchange("hello") }.detail
    #expect(detail.contains("requested a client certificate"), "\(detail)")
    #expect(detail.contains("client_certificate"), "\(detail)")
  }

  @Test(arguments: versions) func `the error says that the server rejects the client certificate`(version: Int32) throws
  {
    let authority = try Authority()
    let server = try serverThatRequiresCertificate(authority, version: version)
    defer { server.stop() }
    let own = try ClientCertificateTests.certificate([
      try Authority("Other").leaf([]) { ($0.commonName, $0.serverAuth) = ("robot", false) }
    ])
    let store = try authority.store()
    let origin = Origin(scheme: .https, host: try HostName(parsing: "upstream.test"), port: 443)
    let identity = SessionIdentity(
      origin: origin, trust: TrustPolicy(), trustFingerprint: store.fingerprint, grant: "robot", generation: 1,
      certificate: own.fingerprint)
    let context = try ClientContext(identity: identity, store: store, certificate: own)
    let detail = try error(context, server) { _ = try $0.exchange("hello") }.detail
    #expect(detail.contains("CN=robot"), "\(detail)")
  }

  @Test func `the error names a client certificate that the server requests after the handshake`() throws {
    let authority = try Authority()
    var options = UpstreamServer.Options()
    (options.tlsVersion, options.clientAuthorities) = (0x0303, [authority.root])
    let server = try UpstreamServer(chain: [authority.leaf(), authority.intermediate], options: options) { connection in
      _ = try? connection.read()
      try? connection.requestCertificateLate()
      _ = try? connection.read()
    }
    defer { server.stop() }
    let detail = try error(context(authority.store()), server) { client in
      #expect(client.session.advice == nil)
      defer { #expect(client.session.advice?.contains("renegotiation") == true) }
      _ = try client.exchange("hello")
    }.detail
    #expect(detail.contains("renegotiation"), "\(detail)")
    #expect(detail.contains("client_certificate"), "\(detail)")
    #expect(detail.contains("first handshake"), "\(detail)")
  }

  @Test func `a server that continues after a refused renegotiation can respond`() throws {
    let authority = try Authority()
    var options = UpstreamServer.Options()
    options.tlsVersion = 0x0303
    let isRead = DispatchSemaphore(value: 0)
    let server = try UpstreamServer(chain: [authority.leaf(), authority.intermediate], options: options) { connection in
      _ = try? connection.read()
      try? connection.requestCertificateLate()
      try? connection.write(Array("hello".utf8))
      // The next read gets the client's refusal, for which OpenSSL ends the session with a fatal alert.
      isRead.wait()
    }
    defer { server.stop() }
    defer { isRead.signal() }
    var client = try Client.connect(context(authority.store()), port: server.port)
    #expect(try client.exchange("hello") == "hello")
  }

  // MARK: the chain as sent

  @Test(arguments: versions) func `the chain that the server sent is known, verified or not`(version: Int32) throws {
    let authority = try Authority()
    var options = UpstreamServer.Options()
    options.tlsVersion = version
    let server = try UpstreamServer(
      chain: [authority.leaf(), authority.intermediate], options: options, handler: echo)
    defer { server.stop() }
    for store in [try authority.store(), try Authority("Other").store()] {
      let descriptor = try connectedSocket(port: server.port)
      defer { closeGently(descriptor) }
      var handshake = try context(store).handshake(sink: SocketSink(descriptor: descriptor), now: moment())
      #expect(handshake.servedChain.isEmpty)
      var isOver = try handshake.advance([UInt8]().span) == .finished
      while !isOver {
        let input = receive(descriptor)
        do throws(TLSError) { isOver = try handshake.advance(input.span) == .finished } catch { isOver = true }
      }
      let served = handshake.servedChain
      #expect(served.map(\.subject) == ["CN=leaf", "CN=Test Intermediate"])
      #expect(served.map(\.issuer) == ["CN=Test Intermediate", "CN=Test Root"])
      #expect(served.allSatisfy { ($0.notBefore ?? .max) < unixTime() && unixTime() < $0.notAfter })
    }
  }
}
