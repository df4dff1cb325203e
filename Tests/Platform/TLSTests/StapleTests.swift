import Policy
import TLS
import TestServer
import Testing

/// A service with `stapling` checks the OCSP response that the upstream sends in its handshake (T69).
@Suite struct StapleTests {
  let authority: Authority
  let leaf: Certificate
  let store: TrustStore
  private var chain: [Certificate] { [leaf, authority.intermediate] }
  private var issuer: Certificate { authority.intermediate }

  init() throws {
    authority = try Authority()
    leaf = try authority.leaf()
    store = try authority.store()
  }

  static let versions: [Int32] = [0x0303, 0x0304]
  private static let day = 86_400

  private func responder(_ issuer: Certificate, change: (inout Certificate.Options) -> Void = { _ in }) throws
    -> Certificate
  {
    var options = Certificate.Options()
    (options.commonName, options.ocspSigning) = ("responder", true)
    change(&options)
    return try Certificate(options, issuer: issuer)
  }

  @Test(arguments: versions) func `T69: only a fresh and correctly signed response about this certificate is good`(
    _ version: Int32
  ) throws {
    let impostor = try Authority()
    var damaged = try issuer.response(for: leaf)
    damaged[damaged.count - 1] ^= 1
    enum Expected { case good, revoked, unusable }
    let rows: [(String, Expected, [UInt8]?)] = [
      ("missing", .unusable, nil),
      ("good", .good, try issuer.response(for: leaf)),
      ("named by SHA-256", .good, try issuer.response(for: leaf) { $0.namesBySHA256 = true }),
      ("by a responder", .good, try issuer.response(for: leaf) { $0.signer = try? responder(issuer) }),
      (
        "without nextUpdate", .good,
        try issuer.response(for: leaf) { ($0.thisUpdate, $0.nextUpdate) = (-6 * Self.day, nil) }
      ),
      (
        "old, without nextUpdate", .unusable,
        try issuer.response(for: leaf) { ($0.thisUpdate, $0.nextUpdate) = (-8 * Self.day, nil) }
      ),
      ("expired", .unusable, try issuer.response(for: leaf) { $0.nextUpdate = -60 }),
      ("a fast clock", .good, try issuer.response(for: leaf) { $0.thisUpdate = 100 }),
      ("not valid yet", .unusable, try issuer.response(for: leaf) { $0.thisUpdate = 1000 }),
      ("revoked", .revoked, try issuer.response(for: leaf) { $0.status = .revoked }),
      (
        "revoked, expired", .revoked,
        try issuer.response(for: leaf) { ($0.status, $0.nextUpdate) = (.revoked, -60) }
      ),
      (
        "revoked by a responder", .revoked,
        try issuer.response(for: leaf) { ($0.status, $0.signer) = (.revoked, try? responder(issuer)) }
      ),
      ("unknown", .unusable, try issuer.response(for: leaf) { $0.status = .unknown }),
      ("another certificate", .unusable, try issuer.response(for: authority.leaf())),
      ("another authority", .unusable, try Authority("Other").intermediate.response(for: leaf)),
      ("an authority with the same name", .unusable, try impostor.intermediate.response(for: leaf)),
      ("the same name's signature", .unusable, try issuer.response(for: leaf) { $0.signer = impostor.intermediate }),
      ("the root", .unusable, try issuer.response(for: leaf) { $0.signer = authority.root }),
      ("the leaf itself", .unusable, try issuer.response(for: leaf) { $0.signer = leaf }),
      (
        "a responder of an authority with the same name", .unusable,
        try issuer.response(for: leaf) { $0.signer = try? responder(impostor.intermediate) }
      ),
      (
        "a responder of the root", .unusable,
        try issuer.response(for: leaf) { $0.signer = try? responder(authority.root) }
      ),
      (
        "an expired responder", .unusable,
        try issuer.response(for: leaf) { $0.signer = try? responder(issuer) { $0.notAfter = -60 } }
      ),
      (
        "a weak responder", .unusable,
        try issuer.response(for: leaf) { $0.signer = try? responder(issuer) { $0.key = .rsa1024 } }
      ),
      ("a weak signature", .unusable, try issuer.response(for: leaf) { $0.isWeak = true }),
      ("a damaged signature", .unusable, damaged),
      (
        "revoked, with a wrong signature", .unusable,
        try issuer.response(for: leaf) {
          ($0.status, $0.signer) = (.revoked, impostor.intermediate)
        }
      ),
      ("bytes after the end", .unusable, try issuer.response(for: leaf) + [0]),
      ("no OCSP", .unusable, Array("no OCSP".utf8)),
      ("tryLater", .unusable, [0x30, 3, 0x0A, 1, 3]),
    ]
    for (name, expected, staple) in rows {
      for stapling in [RevocationPolicy.Stapling.use, .require] {
        let context = try context(store, revocation: revocation(stapling: stapling))
        let kind: TLSError.Kind? =
          switch expected {
          case .good: nil
          case .revoked: .certificateRevoked
          case .unusable: stapling == .require ? .stapleMissing : nil
          }
        #expect(try outcome(context, chain, staple: staple, version: version) == kind, "\(name), \(stapling)")
      }
    }
    // The signers above must exist: `try?` would make the authority sign.
    _ = try (responder(issuer), responder(impostor.intermediate), responder(authority.root))
    _ = try responder(issuer) { $0.key = .rsa1024 }
  }

  @Test func `a response of more than 16 KiB is not read`() throws {
    let large = try issuer.response(for: leaf) + [UInt8](repeating: 0, count: 20_000)
    let context = try context(store, revocation: revocation(stapling: .require))
    #expect(try outcome(context, chain, staple: large, version: 0x0304) == .stapleMissing)
  }

  @Test func `a changed response is refused, or changes nothing`() throws {
    let good = try issuer.response(for: leaf) { $0.signer = try? responder(issuer) }
    let context = try context(store, revocation: revocation(stapling: .require))
    for index in stride(from: 0, to: good.count, by: 7) {
      var changed = good
      changed[index] ^= 1 << (index % 8)
      let kind = try outcome(context, chain, staple: changed, version: 0x0304)
      #expect(kind == nil || kind == .stapleMissing, "\(index)")
      context.discardSessions()
    }
  }

  @Test(arguments: versions) func `must-staple counts only with stapling`(_ version: Int32) throws {
    let strict = try authority.leaf { $0.mustStaple = true }
    let chain = [strict, issuer]
    let good = try issuer.response(for: strict)
    let expired = try issuer.response(for: strict) { $0.nextUpdate = -60 }
    let listed = try store.with(issuer.list())
    let rows: [(TrustStore, RevocationPolicy?, [UInt8]?, TLSError.Kind?)] = [
      (store, nil, nil, nil),
      (listed, revocation(lists: true), nil, nil),
      (store, revocation(stapling: .use), nil, .stapleMissing),
      (store, revocation(stapling: .use), expired, .stapleMissing),
      (store, revocation(stapling: .use), good, nil),
      (store, revocation(stapling: .require), good, nil),
    ]
    for (store, policy, staple, kind) in rows {
      let context = try context(store, revocation: policy)
      #expect(try outcome(context, chain, staple: staple, version: version) == kind)
    }
  }

  @Test(arguments: versions) func `no response can be verified for a server certificate that is itself in ca_file`(
    _ version: Int32
  ) throws {
    let own = try TrustStore(pem: Array(leaf.pem.utf8), name: "leaf")
    let good = try issuer.response(for: leaf)
    for (stapling, kind) in [(.use, nil), (.require, .stapleMissing)] as [(RevocationPolicy.Stapling, TLSError.Kind?)] {
      let context = try context(own, revocation: revocation(stapling: stapling))
      #expect(try outcome(context, chain, staple: good, version: version) == kind)
    }
  }

  @Test(arguments: versions) func `with both checks, both must succeed`(_ version: Int32) throws {
    let good = try issuer.response(for: leaf)
    let revokedLeaf = try issuer.list { $0.revoked = [leaf] }
    for (list, staple, kind) in [
      (try issuer.list(), good, nil), (try issuer.list(), nil, .stapleMissing),
      (revokedLeaf, good, .certificateRevoked),
    ] as [(String, [UInt8]?, TLSError.Kind?)] {
      let context = try context(store.with(list), revocation: revocation(lists: true, stapling: .require))
      #expect(try outcome(context, chain, staple: staple, version: version) == kind)
    }
  }

  @Test(arguments: versions, [RevocationPolicy.Stapling.use, .require])
  func `T69: a proof and its sessions end when the response expires`(
    _ version: Int32, _ stapling: RevocationPolicy.Stapling
  ) throws {
    var options = UpstreamServer.Options()
    (options.tlsVersion, options.staple) = (version, try issuer.response(for: leaf) { $0.nextUpdate = 600 })
    let server = try UpstreamServer(chain: chain, options: options, handler: echo)
    defer { server.stop() }
    let now = unixTime()
    let context = try context(store, revocation: revocation(stapling: stapling))
    for isResumed in [false, true] {
      var client = try Client.connect(context, port: server.port)
      #expect(try client.exchange("hello") == "hello")
      #expect(client.session.proof.isResumed == isResumed)
      #expect(abs(client.session.proof.validity.ends - now - 600) < 30)
      client.closeNotify()
    }
    // The response expires during a resumed handshake.
    let error = try #require(throws: TLSError.self) {
      _ = try Client.connect(context, port: server.port, now: now + 700)
    }
    #expect(error.kind == .certificateInvalid)
    // An expired session is not offered, and the full handshake has the expired response.
    if stapling == .require {
      let error = try #require(throws: TLSError.self) {
        _ = try Client.connect(context, port: server.port, now: now + 700, startingAt: now + 700)
      }
      #expect(error.kind == .stapleMissing)
    } else {
      let client = try Client.connect(context, port: server.port, now: now + 700, startingAt: now + 700)
      #expect(!client.session.proof.isResumed)
      #expect(client.session.proof.validity.ends > now + 700)
    }
    #expect(server.finish().map(\.isResumed) == [false, true, true, false])
  }

  @Test(arguments: versions)
  func `T25 T69: a server without the required response never receives the client certificate`(
    _ version: Int32
  ) throws {
    let own = try authority.leaf([]) { ($0.commonName, $0.serverAuth) = ("robot", false) }
    let certificate = try ClientCertificateTests.certificate([own, authority.intermediate])
    for (staple, name) in [(nil, nil), (try issuer.response(for: leaf), "robot")] as [([UInt8]?, String?)] {
      var options = UpstreamServer.Options()
      (options.tlsVersion, options.clientAuthorities, options.staple) = (version, [authority.root], staple)
      let server = try UpstreamServer(chain: chain, options: options, handler: echo)
      defer { server.stop() }
      var trust = TrustPolicy()
      trust.revocation = revocation(stapling: .require)
      let identity = SessionIdentity(
        origin: Origin(scheme: .https, host: try HostName(parsing: "upstream.test"), port: 443), trust: trust,
        trustFingerprint: store.fingerprint, grant: nil, generation: 1, certificate: certificate.fingerprint)
      let context = try ClientContext(identity: identity, store: store, certificate: certificate)
      if name == nil {
        let error = try #require(throws: TLSError.self) { _ = try Client.connect(context, port: server.port) }
        #expect(error.kind == .stapleMissing)
      } else {
        var client = try Client.connect(context, port: server.port)
        #expect(try client.exchange("hello") == "hello")
        client.closeNotify()
      }
      #expect(server.finish().map(\.clientName) == [name])
    }
  }
}
