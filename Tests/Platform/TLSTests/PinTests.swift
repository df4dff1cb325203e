import TestServer
import Policy
import TLS
import TestSupport
import Testing

/// Pins are checked against the verified chain, in addition to all other checks (T22, T23).
@Suite struct PinTests {
  let authority: Authority
  let leaf: Certificate
  let backup: Certificate
  let store: TrustStore

  init() throws {
    authority = try Authority()
    leaf = try authority.leaf()
    backup = try selfSigned()
    store = try authority.store()
  }

  /// Connects, and checks that the server receives a request only after a successful handshake.
  private func connect(
    _ chain: [Certificate], _ pinning: PinPolicy, store: TrustStore? = nil, host: String = "upstream.test",
    now: Int64 = unixTime(), version: Int32? = nil
  ) throws -> Result<SessionProof, TLSError> {
    var options = UpstreamServer.Options()
    options.tlsVersion = version
    let server = try UpstreamServer(chain: chain, options: options, handler: echo)
    defer { server.stop() }
    let context = try context(store ?? self.store, host: host, pinning: pinning)
    do {
      var client = try Client.connect(context, port: server.port, now: now)
      let response = try client.exchange("secret")
      #expect(response == "secret")
      let proof = client.session.proof
      client.closeNotify()
      #expect(server.finish().map(\.bytes) == [Array("secret".utf8)])
      return .success(proof)
    } catch let error as TLSError {
      #expect(server.finish().map(\.bytes) == [[]])
      return .failure(error)
    }
  }

  @Test(arguments: [0x0303, 0x0304] as [Int32]) func `a pin may be the pin of any certificate in the verified chain`(
    version: Int32
  ) throws {
    for pinned in [leaf, authority.intermediate, authority.root] {
      let proof = try connect([leaf, authority.intermediate], pinning(pinned, backup), version: version).get()
      #expect(proof.pins == .matched)
      #expect(proof.matchedPin?.description == "sha256/" + pinned.pin.split(separator: "/", maxSplits: 1)[1])
      #expect(proof.remark == nil)
      #expect(!proof.isResumed)
    }
  }

  @Test func `a session without pins is marked as unpinned`() throws {
    #expect(try connect([leaf, authority.intermediate], PinPolicy()).get().pins == .none)
  }

  @Test(arguments: [Certificate.Key.ec256, .rsa2048, .ed25519]) func `pins match keys of every type`(
    key: Certificate.Key
  ) throws {
    let leaf = try authority.leaf { $0.key = key }
    #expect(try connect([leaf, authority.intermediate], pinning(leaf, backup)).get().pins == .matched)
  }

  @Test func `a renewed certificate needs the same key or a backup pin`() throws {
    let renewed = try authority.leaf(reusingKeyOf: leaf)
    #expect(try connect([renewed, authority.intermediate], pinning(leaf, backup)).get().pins == .matched)

    let rotated = try authority.leaf()
    #expect(try connect([rotated, authority.intermediate], pinning(leaf, rotated)).get().pins == .matched)
    let refused = try connect([rotated, authority.intermediate], pinning(leaf, backup))
    #expect(throws: TLSError.self) { try refused.get() }
  }

  @Test(arguments: [0x0303, 0x0304] as [Int32])
  func `a pin mismatch is refused, and the error lists the keys of the chain`(
    version: Int32
  ) throws {
    let result = try connect(
      [leaf, authority.intermediate], pinning(backup, try selfSigned()), version: version)
    let error = try #require(throws: TLSError.self) { try result.get() }
    #expect(error.kind == .pinMismatch)
    for certificate in [leaf, authority.intermediate, authority.root] {
      #expect(error.detail.contains(certificate.pin))
    }
  }

  @Test func `a pinned certificate outside of the verified chain does not count`() throws {
    // The attacker's chain is valid. The pinned certificate is sent in addition, and is not part of the verified chain.
    let pinned = try Authority("Pinned")
    let chain = [leaf, authority.intermediate, pinned.root, pinned.intermediate]
    let result = try connect(chain, pinning(pinned.root, pinned.intermediate))
    let error = try #require(throws: TLSError.self) { try result.get() }
    #expect(error.kind == .pinMismatch)
    #expect(!error.detail.contains(pinned.root.pin))
  }

  @Test func `the error recognizes the hash of a certificate instead of its key`() throws {
    let result = try connect([leaf, authority.intermediate], pinning([leaf.fingerprint, backup.pin]))
    let error = try #require(throws: TLSError.self) { try result.get() }
    #expect(error.kind == .pinMismatch)
    #expect(error.detail.contains("\(leaf.fingerprint) is the hash of a certificate, but a pin is the hash of its key"))
  }

  @Test func `a matching pin does not replace the checks of chain, name and time`() throws {
    for mode in [PinPolicy.Mode.enforce, .report] {
      let expired = try authority.leaf { $0.notAfter = -60 }
      let other = try authority.leaf(["other.test"])
      let alone = try selfSigned()
      let rows: [([Certificate], Certificate, TLSError.Kind)] = [
        ([expired, authority.intermediate], expired, .certificateExpired),
        ([other, authority.intermediate], other, .hostnameMismatch),
        ([alone], alone, .certificateInvalid),
      ]
      for (chain, pinned, kind) in rows {
        let result = try connect(chain, pinning(pinned, backup, mode: mode))
        let error = try #require(throws: TLSError.self) { try result.get() }
        #expect(error.kind == kind)
      }
    }
  }

  @Test func `in report mode, a session with a pin mismatch is accepted with a remark`() throws {
    let proof = try connect([leaf, authority.intermediate], pinning(backup, try selfSigned(), mode: .report)).get()
    #expect(proof.pins == .reported)
    #expect(proof.remark?.contains(leaf.pin) == true)
    let matched = try connect([leaf, authority.intermediate], pinning(leaf, backup, mode: .report)).get()
    #expect(matched.pins == .matched)
  }

  @Test func `a session is accepted with a remark if every pin is in use and none is a backup`() throws {
    let proof = try connect([leaf, authority.intermediate], pinning(leaf, authority.root)).get()
    #expect(proof.pins == .matched)
    #expect(proof.remark?.contains("backup") == true)
  }

  @Test func `expired pins are refused in both modes`() throws {
    let now = unixTime()
    for mode in [PinPolicy.Mode.enforce, .report] {
      let policy = try pinning(leaf, backup, mode: mode, expires: now)
      let result = try connect([leaf, authority.intermediate], policy, now: now)
      #expect(try #require(throws: TLSError.self) { try result.get() }.kind == .pinsExpired)
      #expect(try connect([leaf, authority.intermediate], policy, now: now - 1).get().pins == .matched)
    }
  }
}
