import TestServer
import Policy
import TLS
import TestSupport
import Testing

/// The client certificate is sent only to a server that has proved its identity (T25).
@Suite struct ClientCertificateTests {
  let authority: Authority
  let leaf: Certificate
  let own: Certificate
  let store: TrustStore
  static let versions: [Int32] = [0x0303, 0x0304]
  static let keys: [Certificate.Key] = [.ec256, .ec384, .ec521, .rsa2048, .ed25519]

  init() throws {
    authority = try Authority()
    leaf = try authority.leaf()
    own = try authority.leaf([]) {
      $0.commonName = "robot"; $0.serverAuth = false
    }
    store = try authority.store()
  }

  static func certificate(
    _ chain: [Certificate], key: Certificate? = nil
  ) throws(ClientCertificate.Problem) -> ClientCertificate {
    let pem = Array(chain.map(\.pem).joined().utf8)
    let key = Array((key ?? chain[0]).keyPEM.utf8)
    return try key.span.withUnsafeBytes { (key) throws(ClientCertificate.Problem) in
      try ClientCertificate(pem: pem, name: "c.pem", key: key, keyName: "c.key")
    }
  }

  private func server(_ version: Int32, requires: Bool = true) throws -> UpstreamServer {
    var options = UpstreamServer.Options()
    options.tlsVersion = version
    options.clientAuthorities = [authority.root]
    options.requiresClientCertificate = requires
    return try UpstreamServer(chain: [leaf, authority.intermediate], options: options, handler: echo)
  }

  private func context(
    _ certificate: ClientCertificate?, pinning: PinPolicy = PinPolicy(), host: String = "upstream.test",
    store: TrustStore? = nil
  ) throws -> ClientContext {
    let store = store ?? self.store
    var trust = TrustPolicy()
    trust.pinning = pinning
    let identity = SessionIdentity(
      origin: Origin(scheme: .https, host: try HostName(parsing: host), port: 443), trust: trust,
      trustFingerprint: store.fingerprint, grant: "robot", generation: 1, certificate: certificate?.fingerprint)
    return try ClientContext(identity: identity, store: store, certificate: certificate)
  }

  @Test(arguments: versions)
  func `T25: a server that requests the client certificate receives it, also on resumption`(
    _ version: Int32
  ) throws {
    let server = try server(version)
    defer { server.stop() }
    let context = try context(Self.certificate([own, authority.intermediate]))
    for _ in 0..<2 {
      var client = try Client.connect(context, port: server.port)
      #expect(try client.exchange("hello") == "hello")
      client.closeNotify()
    }
    let records = server.finish()
    #expect(records.map(\.clientName) == ["robot", "robot"])
    #expect(records.map(\.isResumed) == [false, true])
  }

  @Test(arguments: keys, versions)
  func `a server accepts a client certificate with any of these keys`(
    _ key: Certificate.Key, _ version: Int32
  ) throws {
    let own = try authority.leaf([]) { ($0.commonName, $0.serverAuth, $0.key) = ("robot", false, key) }
    let server = try server(version)
    defer { server.stop() }
    var client = try Client.connect(context(Self.certificate([own, authority.intermediate])), port: server.port)
    #expect(try client.exchange("hello") == "hello")
    client.closeNotify()
    #expect(server.finish().map(\.clientName) == ["robot"])
  }

  @Test(arguments: versions)
  func `T25: a server without valid chain, name and pins never receives the client certificate`(
    _ version: Int32
  ) throws {
    let certificate = try Self.certificate([own, authority.intermediate])
    let other = try selfSigned()
    let wrong: [(ClientContext, TLSError.Kind)] = [
      (try context(certificate, pinning: pinning(other, try selfSigned())), .pinMismatch),
      (try context(certificate, pinning: pinning(leaf, other, expires: 1)), .pinsExpired),
      (try context(certificate, host: "other.test"), .hostnameMismatch),
      (try context(certificate, store: Authority("Other").store()), .certificateInvalid),
    ]
    for (context, kind) in wrong {
      let server = try server(version, requires: false)
      defer { server.stop() }
      #expect(throws: TLSError.self) {
        do {
          _ = try Client.connect(context, port: server.port)
        } catch let error as TLSError {
          #expect(error.kind == kind, "\(error)")
          throw error
        }
      }
      #expect(server.finish().map(\.clientName) == [nil], "\(kind)")
    }
  }

  @Test(arguments: versions)
  func `T25 T65: a server whose authority excludes its name never receives the client certificate`(
    _ version: Int32
  ) throws {
    var (constrained, wildcard) = (Certificate.Options(), Certificate.Options())
    (constrained.isCA, constrained.nameConstraints) = (true, "excluded;DNS:bar.up.test")
    wildcard.dnsNames = ["*.up.test"]
    let root = try Certificate(constrained)
    let store = try TrustStore(pem: Array(root.pem.utf8), name: "trust")
    var options = UpstreamServer.Options()
    (options.tlsVersion, options.clientAuthorities) = (version, [authority.root])
    options.requiresClientCertificate = false
    let server = try UpstreamServer(chain: [Certificate(wildcard, issuer: root)], options: options, handler: echo)
    defer { server.stop() }
    let certificate = try Self.certificate([own, authority.intermediate])
    let error = try #require(throws: TLSError.self) {
      _ = try Client.connect(context(certificate, host: "bar.up.test", store: store), port: server.port)
    }
    #expect(error.kind == .certificateInvalid, "\(error)")
    #expect(server.finish().map(\.clientName) == [nil])
  }

  @Test(arguments: versions) func `a server with matching or reported pins receives the client certificate`(
    _ version: Int32
  ) throws {
    let certificate = try Self.certificate([own, authority.intermediate])
    for policy in [try pinning(leaf, try selfSigned()), try pinning([own.pin, try selfSigned().pin], mode: .report)] {
      let server = try server(version)
      defer { server.stop() }
      var client = try Client.connect(context(certificate, pinning: policy), port: server.port)
      #expect(try client.exchange("hello") == "hello")
      client.closeNotify()
      #expect(server.finish().map(\.clientName) == ["robot"])
    }
  }

  @Test(arguments: versions) func `a client without a certificate is refused only if the server requires a certificate`(
    _ version: Int32
  ) throws {
    let asking = try server(version, requires: false)
    defer { asking.stop() }
    var client = try Client.connect(context(nil), port: asking.port)
    #expect(try client.exchange("hello") == "hello")
    client.closeNotify()
    #expect(asking.finish().map(\.clientName) == [nil])
    let insisting = try server(version)
    defer { insisting.stop() }
    #expect {
      var client = try Client.connect(context(nil), port: insisting.port)
      _ = try client.exchange("hello")
    } throws: { error in
      let detail = (error as? TLSError)?.detail ?? ""
      return detail.contains("alert certificate required") || detail.contains("alert handshake failure")
    }
  }

  @Test func `an expired client certificate opens no connection`() throws {
    let certificate = try Self.certificate([own, authority.intermediate])
    #expect(throws: TLSError.self) {
      _ = try context(certificate).handshake(
        sink: SocketSink(descriptor: -1), now: moment(certificate.validity.ends))
    }
    let other = try Self.certificate([try authority.leaf([]) { $0.serverAuth = false }])
    #expect(other.fingerprint != certificate.fingerprint)
  }

  /// The problem of a certificate that cannot be used with this key.
  private func problem(_ chain: [Certificate], key: Certificate? = nil) -> ClientCertificate.Problem? {
    do throws(ClientCertificate.Problem) {
      _ = try Self.certificate(chain, key: key)
      return nil
    } catch {
      return error
    }
  }

  @Test(arguments: keys) func `a key of another certificate is refused`(_ kind: Certificate.Key) throws {
    let one = try selfSigned { $0.key = kind }
    #expect(problem([one]) == nil)
    for other in [try selfSigned { $0.key = kind }, try selfSigned { $0.key = kind == .ec256 ? .rsa2048 : .ec256 }] {
      #expect(problem([one], key: other)?.part == .key)
    }
  }

  @Test func `the error says which of the two files is wrong`() throws {
    #expect(problem([own, authority.intermediate, authority.root]) == nil)
    #expect(problem([authority.intermediate, own], key: own)?.part == .certificate)
    #expect(problem([own, authority.root])?.part == .certificate)
    let weak = try selfSigned { $0.key = .rsa1024 }
    #expect(problem([weak])?.part == .certificate)
  }
}
