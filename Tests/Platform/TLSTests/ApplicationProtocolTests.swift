import Policy
import TLS
import TestServer
import TestSupport
import Testing

/// The protocol of a connection is one of the protocols that its identity offers (RFC 7301), and part of its proof.
@Suite struct ApplicationProtocolTests {
  let leaf: Certificate
  let store: TrustStore

  init() throws {
    leaf = try selfSigned()
    store = try TrustStore(pem: Array(leaf.pem.utf8), name: "test")
  }

  private func identity(_ protocols: [ApplicationProtocol]) throws -> SessionIdentity {
    SessionIdentity(
      origin: Origin(scheme: .https, host: try HostName(parsing: "upstream.test"), port: 443), trust: TrustPolicy(),
      trustFingerprint: store.fingerprint, grant: nil, generation: 1, protocols: protocols)
  }

  private func server(_ selected: ApplicationProtocol?, _ name: String? = nil) throws -> UpstreamServer {
    var options = UpstreamServer.Options()
    options.selectedProtocol = name ?? selected?.rawValue
    return try UpstreamServer(chain: [leaf], options: options, handler: echo)
  }

  @Test(
    arguments: [
      ([.http1], .http1, .http1), ([.http1], nil, .http1), ([.http2, .http1], .http2, .http2),
      ([.http2, .http1], .http1, .http1), ([.http2, .http1], nil, .http1), ([.http2], .http2, .http2),
    ] as [([ApplicationProtocol], ApplicationProtocol?, ApplicationProtocol)])
  func `the proof has the protocol that the upstream selected`(
    offered: [ApplicationProtocol], selected: ApplicationProtocol?, proved: ApplicationProtocol
  ) throws {
    let server = try server(selected)
    defer { server.stop() }
    let context = try ClientContext(identity: identity(offered), store: store)
    let client = try Client.connect(context, port: server.port)
    #expect(client.session.proof.applicationProtocol == proved)
    #expect(client.session.proof.isProtocolSelected == (selected != nil))
    #expect(client.session.proof.identity.protocols == offered)
  }

  @Test(
    arguments: [
      ([.http1], "h2"), ([.http1], "spdy/3"), ([.http2], "http/1.1"), ([.http2], nil),
    ] as [([ApplicationProtocol], String?)])
  func `an upstream that selects a protocol that bearerd did not offer is refused`(
    offered: [ApplicationProtocol], selected: String?
  ) throws {
    let server = try server(nil, selected)
    defer { server.stop() }
    let context = try ClientContext(identity: identity(offered), store: store)
    let error = try #require(throws: TLSError.self) { _ = try Client.connect(context, port: server.port) }
    #expect(error.kind == .handshakeFailed)
    #expect(error.detail.contains("offer"), "\(error.detail)")
    #expect(offered.allSatisfy { error.detail.contains($0.name) }, "\(error.detail)")
  }

  /// Begins a handshake, and answers it with the alert no_application_protocol.
  private func refuse(_ context: ClientContext, _ port: UInt16) throws {
    let descriptor = try connectedSocket(port: port)
    defer { closeGently(descriptor) }
    var handshake = try context.handshake(sink: SocketSink(descriptor: descriptor), now: moment())
    _ = try handshake.advance([UInt8]().span)
    _ = try handshake.advance(([0x15, 3, 3, 0, 2, 2, 120] as [UInt8]).span)
  }

  /// What the user should do is in the error, for a selection and for an alert (RFC 7301 section 3.2).
  @Test(
    arguments: [
      ([.http1], nil, ["only HTTP/2", "protocol: auto"]), ([.http2], nil, ["HTTP/2", "protocol: auto or http1"]),
      ([.http2], "http/1.1", ["HTTP/2", "protocol: auto or http1"]), ([.http2], "", ["protocol: auto or http1"]),
      ([.http2, .http1], nil, ["neither HTTP/2 nor HTTP/1.1", "port"]),
    ] as [([ApplicationProtocol], String?, [String])])
  func `an error about the protocol says what to change`(
    offered: [ApplicationProtocol], selected: String?, words: [String]
  ) throws {
    let server = try server(nil, selected.flatMap { $0.isEmpty ? nil : $0 })
    defer { server.stop() }
    let context = try ClientContext(identity: identity(offered), store: store)
    let error = try #require(throws: TLSError.self) {
      if selected == nil {
        try refuse(context, server.port)
      } else {
        _ = try Client.connect(context, port: server.port)
      }
    }
    #expect(error.kind == .handshakeFailed)
    #expect(words.allSatisfy { error.detail.contains($0) }, "\(error.detail)")
  }

  /// RFC 9113 section 9.2.3 forbids post-handshake authentication. A server may request it only if the client has announced
  /// it (RFC 8446 section 4.6.2).
  @Test func `bearerd does not announce post-handshake authentication`() throws {
    var options = UpstreamServer.Options()
    (options.tlsVersion, options.protocols) = (0x0304, ["h2"])
    let server = try UpstreamServer(chain: [leaf], options: options) { connection in
      _ = try? connection.read()
      do {
        try connection.requestCertificateLate()
      } catch {
        try? connection.write(Array("\(error)".utf8))
      }
    }
    defer { server.stop() }
    var client = try Client.connect(ClientContext(identity: identity([.http2]), store: store), port: server.port)
    let expected = "requesting post-handshake authentication: extension not received"
    #expect(try client.exchange(expected) == expected)
  }

  @Test func `T25: a context for other protocols shares no TLS session, and is otherwise the same`() throws {
    let server = try server(nil)
    defer { server.stop() }
    let context = try ClientContext(identity: identity([.http2, .http1]), store: store)
    let other = try context.offering([.http1])
    #expect(other.identity == (try identity([.http1])))
    for context in [context, other] {
      var client = try Client.connect(context, port: server.port)
      #expect(try client.exchange("hello") == "hello" && !client.session.proof.isResumed)
      client.closeNotify()
    }
  }

  @Test(arguments: ResumptionTests.versions)
  func `T25: identities with different protocols share no TLS session`(version: Int32) throws {
    var options = UpstreamServer.Options()
    options.tlsVersion = version
    let server = try UpstreamServer(chain: [leaf], options: options, handler: echo)
    defer { server.stop() }
    let (one, both, other) = (try identity([.http1]), try identity([.http2, .http1]), try identity([.http2]))
    #expect(one != both && one != other && both != other)
    let contexts = try [one, both].map { try ClientContext(identity: $0, store: store) }
    // In rounds 1 and 3, a session of the other identity would be the newest.
    for round in 0..<4 {
      var client = try Client.connect(contexts[round % 2], port: server.port)
      #expect(try client.exchange("hello") == "hello")
      #expect(client.session.proof.isResumed == (round >= 2))
      client.closeNotify()
    }
    #expect(contexts.map(\.statistics.full) == [1, 1] && contexts.map(\.statistics.resumed) == [1, 1])
  }
}
