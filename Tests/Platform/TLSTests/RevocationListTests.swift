import Policy
import TLS
import TestServer
import Testing

/// A service with `crl_file` sends nothing unless a valid list of the issuer covers the upstream's certificate (T69).
@Suite struct RevocationListTests {
  let authority: Authority
  let leaf: Certificate
  let store: TrustStore
  private var chain: [Certificate] { [leaf, authority.intermediate] }
  private var intermediate: Certificate { authority.intermediate }

  init() throws {
    authority = try Authority()
    leaf = try authority.leaf()
    store = try authority.store()
  }

  static let versions: [Int32] = [0x0303, 0x0304]

  @Test(arguments: versions) func `T69: lists decide about the leaf, and about intermediates that they cover`(
    _ version: Int32
  ) throws {
    let (root, intermediate) = (authority.root, authority.intermediate)
    let other = try authority.leaf()
    // An authority with the same names and other keys.
    let impostor = try Authority()
    let good = try intermediate.list()
    let rows: [(String, TLSError.Kind?, [String])] = [
      ("good", nil, [good]),
      ("another certificate is revoked", nil, [try intermediate.list { $0.revoked = [other] }]),
      ("both lists", nil, [good, try root.list()]),
      ("revoked leaf", .certificateRevoked, [try intermediate.list { $0.revoked = [other, leaf] }]),
      ("revoked intermediate", .certificateRevoked, [good, try root.list { $0.revoked = [intermediate] }]),
      ("stale", .revocationUnknown, [try intermediate.list { $0.nextUpdate = -60 }]),
      ("stale list of the root", .revocationUnknown, [good, try root.list { $0.nextUpdate = -60 }]),
      ("not valid yet", .revocationUnknown, [try intermediate.list { $0.thisUpdate = 1000 }]),
      (
        "a stale list and a new one", nil,
        [try intermediate.list { ($0.thisUpdate, $0.nextUpdate) = (-90, -60) }, good]
      ),
      ("only the root's list", .revocationUnknown, [try root.list()]),
      ("a list of another issuer", .revocationUnknown, [try Authority("Other").intermediate.list()]),
      ("an impostor's list", .revocationUnknown, [try impostor.intermediate.list()]),
      (
        "an impostor's list without its key", .revocationUnknown,
        [try impostor.intermediate.list { $0.namesKey = false }]
      ),
      (
        "a list that another key signed", .revocationUnknown,
        [try intermediate.list { $0.signer = impostor.intermediate }]
      ),
      (
        "the root's list that another key signed", .revocationUnknown,
        [good, try root.list { $0.signer = impostor.root }]
      ),
      ("for authorities only", .revocationUnknown, [try intermediate.list { $0.distributionPoint = "onlyCA:TRUE" }]),
      ("for users only", nil, [try intermediate.list { $0.distributionPoint = "onlyuser:TRUE" }]),
    ]
    for (name, expected, lists) in rows {
      let all = try TrustStore(store, lists: RevocationLists(Array(lists.joined().utf8), name: "test.crl"))
      let context = try context(all, revocation: revocation(lists: true))
      #expect(try outcome(context, chain, version: version) == expected, "\(name)")
    }
  }

  @Test(arguments: versions) func `a list covers a server certificate in ca_file only if the server sends the issuer`(
    _ version: Int32
  ) throws {
    let own = try TrustStore(pem: Array(leaf.pem.utf8), name: "leaf")
    #expect(try outcome(context(own), [leaf], version: version) == nil)
    let impostor = try Authority()
    let rows: [([Certificate], Bool, TLSError.Kind?)] = [
      (chain, false, nil), (chain, true, .certificateRevoked), ([leaf], false, .revocationUnknown),
      ([leaf, impostor.intermediate], false, .revocationUnknown),
    ]
    for (chain, isRevoked, kind) in rows {
      let list = try intermediate.list { $0.revoked = isRevoked ? [leaf] : [] }
      let context = try context(own.with(list), revocation: revocation(lists: true))
      #expect(try outcome(context, chain, version: version) == kind)
    }
  }

  @Test(arguments: versions) func `an authority in ca_file is trusted, whatever the lists say about it`(
    _ version: Int32
  ) throws {
    let anchor = try TrustStore(pem: Array(intermediate.pem.utf8), name: "anchor")
    let lists = [try authority.root.list { $0.revoked = [intermediate] }, try intermediate.list()]
    let context = try context(anchor.with(lists[0], lists[1]), revocation: revocation(lists: true))
    #expect(try outcome(context, chain, version: version) == nil)
  }

  @Test(arguments: versions) func `an untrusted chain is refused as such, before its lists are read`(
    _ version: Int32
  ) throws {
    let impostor = try Authority()
    let context = try context(store.with(intermediate.list()), revocation: revocation(lists: true))
    let chain = [try impostor.leaf(), impostor.intermediate]
    #expect(try outcome(context, chain, version: version) == .certificateInvalid)
  }

  @Test(arguments: versions) func `T69: a proof and its sessions end when the first list expires`(
    _ version: Int32
  ) throws {
    var options = UpstreamServer.Options()
    options.tlsVersion = version
    let server = try UpstreamServer(chain: chain, options: options, handler: echo)
    defer { server.stop() }
    let now = unixTime()
    let lists = [try intermediate.list { $0.nextUpdate = 900 }, try authority.root.list { $0.nextUpdate = 600 }]
    let context = try context(store.with(lists[0], lists[1]), revocation: revocation(lists: true))
    for isResumed in [false, true] {
      var client = try Client.connect(context, port: server.port)
      #expect(try client.exchange("hello") == "hello")
      #expect(client.session.proof.isResumed == isResumed)
      #expect(abs(client.session.proof.validity.ends - now - 600) < 30)
      client.closeNotify()
    }
    // The lists expire during the resumed handshake, then before a full handshake.
    // Not `now`: a session from the future is not resumed.
    for (start, kind) in [(unixTime(), .certificateInvalid), (now + 700, .revocationUnknown)]
      as [(Int64, TLSError.Kind)]
    {
      let error = try #require(throws: TLSError.self) {
        _ = try Client.connect(context, port: server.port, now: now + 700, startingAt: start)
      }
      #expect(error.kind == kind)
    }
    #expect(server.finish().map(\.isResumed) == [false, true, true, false])
  }

  @Test func `lists are part of the store's identity`() throws {
    let (first, second) = (try store.with(intermediate.list()), try store.with(authority.root.list()))
    #expect(Set([store.fingerprint, first.fingerprint, second.fingerprint]).count == 3)
    for (store, lists) in [(store, true), (first, false)] {
      let error = try #require(throws: TLSError.self) {
        _ = try context(store, revocation: lists ? revocation(lists: true) : nil)
      }
      #expect(error.kind == .internalError)
    }
  }

  @Test func `a file has one or more lists in PEM, or one in DER`() throws {
    let der = decoded(try intermediate.list { $0.nextUpdate = 500 })
    let two = Array("text\n\(try intermediate.list())\n\(try authority.root.list())text\n".utf8)
    let lists = try RevocationLists(der, name: "test")
    #expect(lists.descriptions.map(\.issuer) == ["CN=Test Intermediate"])
    #expect(abs((lists.descriptions.first?.nextUpdate ?? 0) - unixTime() - 500) < 30)
    #expect(
      try RevocationLists(two, name: "test").descriptions.map(\.issuer) == ["CN=Test Intermediate", "CN=Test Root"])
  }

  @Test func `a damaged list is refused, or covers nothing`() throws {
    let good = decoded(try intermediate.list { $0.revoked = [leaf] })
    for index in stride(from: 0, to: good.count, by: 7) {
      var changed = good
      changed[index] ^= 1 << (index % 8)
      guard let lists = try? RevocationLists(changed, name: "test") else { continue }
      let context = try context(TrustStore(store, lists: lists), revocation: revocation(lists: true))
      let kind = try outcome(context, chain, version: 0x0304)
      #expect(kind == .revocationUnknown || kind == .certificateRevoked, "\(index)")
    }
  }

  @Test func `a file with a list that bearerd cannot use is refused`() throws {
    let good = try intermediate.list()
    let der = decoded(good)
    func changed(_ change: (inout Certificate.ListOptions) -> Void) throws -> [UInt8] {
      Array(try intermediate.list(change).utf8)
    }
    let rows: [(String, [UInt8])] = [
      ("empty", []),
      ("text", Array("no list".utf8)),
      ("a certificate", Array(intermediate.pem.utf8)),
      ("a list and a certificate", Array((good + intermediate.pem).utf8)),
      ("cut PEM", Array(good.utf8.prefix(200))),
      ("cut DER", Array(der.dropLast())),
      ("bytes after DER", der + der),
      ("another DER structure", [0x30, 0x82, 0, 2, 5, 0]),
      ("without nextUpdate", try changed { $0.nextUpdate = nil }),
      ("delta", try changed { $0.isDelta = true }),
      ("indirect", try changed { $0.distributionPoint = "indirectCRL:TRUE" }),
      ("some reasons", try changed { $0.distributionPoint = "onlysomereasons:keyCompromise" }),
      ("attribute certificates", try changed { $0.distributionPoint = "onlyAA:TRUE" }),
      ("for nothing", try changed { $0.distributionPoint = "onlyuser:TRUE,onlyCA:TRUE" }),
      ("too many", Array(String(repeating: good, count: RevocationLists.maximumCount + 1).utf8)),
      ("too large", Array(good.utf8) + [UInt8](repeating: 10, count: RevocationLists.maximumBytes)),
    ]
    for (name, bytes) in rows {
      let error = #expect(throws: TLSError.self, "\(name)") { _ = try RevocationLists(bytes, name: "my.crl") }
      #expect(error?.detail.hasPrefix("my.crl: ") == true, "\(name)")
    }
    #expect(
      try RevocationLists(Array(String(repeating: good, count: RevocationLists.maximumCount).utf8), name: "n")
        .descriptions.count == RevocationLists.maximumCount)
  }
}
