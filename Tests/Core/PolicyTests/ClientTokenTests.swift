import Foundation
import HTTP1
import Policy
import Testing

/// A test digest: 32 times the first byte after the token's prefix.
@Sendable private func toyHash(_ bytes: Span<UInt8>) -> TokenDigest? {
  TokenDigest([UInt8](repeating: bytes[8], count: 32).span)
}

private func token(_ letter: Character) -> String { "bearerd_" + String(repeating: letter, count: 43) }

private func looksLikeOne(_ text: String) -> Bool { ClientToken.isWellFormed(Array(text.utf8).span) }

private func madeDigest(_ bytes: [UInt8]) -> TokenDigest? { TokenDigest(bytes.span) }

private func client(_ name: String, _ letters: Character...) -> Client {
  Client(name: name, digests: letters.compactMap { toyHash(Array(token($0).utf8).span) })
}

@Suite struct ClientTokenTests {
  private func admit(
    _ caller: Caller?, _ value: String? = nil, clients: [Client] = [client("a", "A", "X"), client("b", "B")],
    host: String = "localhost:7070", hash: TokenHash = toyHash
  ) -> Result<AdmittedRequest, PolicyRefusal> {
    Result { () throws(PolicyRefusal) in
      let admission = Admission(
        callers: Callers(uids: [1000]), authorities: ["localhost:7070"], clients: clients)
      return try admission.admit(
        requestHead(host: host, fields: value.map { [(.authorization, $0)] } ?? []), caller: caller, listener: 0,
        hash: hash)
    }
  }

  @Test func `T6: a caller with any token of a client is known by the client's name`() throws {
    for (letter, name) in [("A", "a"), ("X", "a"), ("B", "b")] as [(Character, String)] {
      #expect(try admit(caller, "Bearer " + token(letter)).get().caller.client == name)
      #expect(try admit(.network, "Bearer " + token(letter)).get().caller.client == name)
    }
    #expect(admit(caller, "Bearer " + token("C")) == .failure(.clientTokenUnknown))
    #expect(admit(caller, "Bearer x") == .failure(.clientTokenMalformed))
    #expect(admit(caller) == .failure(.clientTokenMissing))
    #expect(admit(caller, "Bearer " + token("A"), hash: { _ in nil }) == .failure(.clientTokenMissing))
    #expect(admit(Caller(uid: 1), "Bearer " + token("A")) == .failure(.callerNotAllowed(uid: 1)))
    #expect(admit(nil, "Bearer " + token("A")) == .failure(.callerUnknown))
  }

  /// Even if such a listener were reachable from the network by mistake.
  @Test func `T4: without configured clients, network callers are refused`() {
    #expect(admit(.network, "Bearer " + token("A"), clients: []) == .failure(.callerUnknown))
    #expect(throws: Never.self) { try admit(caller, clients: []).get() }
  }

  @Test func `T53: at most one token is hashed per request, and none if the request is refused anyway`() {
    final class Count: @unchecked Sendable { var hashes = 0 }
    let count = Count()
    let counting: TokenHash = {
      count.hashes += 1
      #expect($0.count == ClientToken.length)
      return toyHash($0)
    }
    _ = admit(caller, "Bearer " + token("C"), hash: counting)
    #expect(count.hashes == 1)
    for value in [
      "Bearer " + String(repeating: "x", count: 60_000), "Basic " + String(repeating: "QUFB", count: 10_000),
    ] {
      _ = admit(caller, value, hash: counting)
    }
    _ = admit(caller, "Bearer " + token("A"), host: "evil.test:7070", hash: counting)
    _ = admit(Caller(uid: 7), "Bearer " + token("A"), hash: counting)
    _ = admit(nil, "Bearer " + token("A"), hash: counting)
    #expect(count.hashes == 1)
  }

  @Test func `T53: every bit of a digest is compared`() throws {
    let bytes = (0..<32).map { UInt8($0 * 7 + 1) }
    let digest = try #require(madeDigest(bytes))
    #expect(digest == madeDigest(bytes))
    for bit in 0..<256 {
      var other = bytes
      other[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(digest != madeDigest(other), "\(bit)")
    }
    #expect(TokenDigest(parsing: digest.description) == digest)
  }

  @Test func `T6: only texts in the exact token format count as tokens`() {
    let random = (0..<32).map { UInt8(truncatingIfNeeded: $0 * 73) }
    let made = ClientToken.text(random: random)
    #expect(made.utf8.count == ClientToken.length && looksLikeOne(made))
    #expect(ClientToken.text(random: [UInt8](repeating: 0xFB, count: 32)).contains("-"))
    for text in [
      "", "bearerd_", token("A") + "A", String(token("A").dropLast()),
      token("A").replacing("bearerd_", with: "bearerd-"),
      token("A").replacing("bearerd_", with: "Bearerd_"), token("="), token("+"), token(" "), token("\u{0}"),
      token("/"),
    ] { #expect(!looksLikeOne(text), "\(text)") }
  }

  @Test func `T6: tokens are found and masked anywhere in a text, also percent-encoded`() {
    let (a, b) = (token("A"), token("-"))
    let escaped = String(repeating: "%41", count: 43)
    let pairs: [(String, String)] = [
      ("", ""), ("/x", "/x"), (a, "bearerd_***"), ("/bot\(a)/getMe", "/botbearerd_***/getMe"),
      ("\(a)\(b)", "bearerd_***bearerd_***"), ("\(a)A", "bearerd_***A"), ("bearerd_\(a)", "bearerd_***\(a.suffix(8))"),
      ("bearerd\(a)/", "bearerdbearerd_***/"), ("bearerd_x/\(a)?", "bearerd_x/bearerd_***?"),
      ("/%62earerd%5F\(escaped)/", "/bearerd_***/"), ("/%6\(a)", "/%6bearerd_***"),
      ("%\(a)", "%bearerd_***"), (String(a.dropLast()), String(a.dropLast())),
      (a.uppercased(), a.uppercased()), (token("A").replacing("_", with: "-"), token("A").replacing("_", with: "-")),
      (String(a.dropLast()) + "=", String(a.dropLast()) + "="),
      (String(a.dropLast()) + "%2", String(a.dropLast()) + "%2"),
    ]
    for (text, masked) in pairs {
      let bytes = Array(text.utf8)
      let isIn = ClientToken.isIn(bytes.span)
      let result = String(decoding: ClientToken.masked(bytes.span), as: UTF8.self)
      #expect(result == masked, "\(text)")
      #expect(isIn == (text != masked), "\(text)")
    }
  }

  @Test func `T6: a token may be an entry of Sec-WebSocket-Protocol`() throws {
    let kubernetes = "base64url.bearer.authorization.k8s.io."
    func admit(_ value: String, name: String = "Sec-WebSocket-Protocol") -> PolicyRefusal? {
      let admission = Admission(
        callers: Callers(uids: [1000]), authorities: ["localhost:7070"], clients: [client("a", "A")])
      do throws(PolicyRefusal) {
        let head = requestHead(fields: [(.other, value)], named: name)
        _ = try admission.admit(head, caller: caller, listener: 0, hash: toyHash)
        return nil
      } catch {
        return error
      }
    }
    let encoded = Data(token("A").utf8).base64EncodedString()
      .replacing("+", with: "-").replacing("/", with: "_")
    for value in [
      token("A"), "realtime, openai-insecure-api-key.\(token("A")), openai-beta.realtime-v1",
      "\(kubernetes)\(encoded), v5.channel.k8s.io", "\(kubernetes.uppercased())\(encoded)", "x.\(token("A"))",
    ] { #expect(admit(value) == nil, "\(value)") }
    #expect(admit(token("B")) == .clientTokenUnknown)
    for value in [
      "x\(token("A"))", token("A") + ".x", encoded, "other.\(encoded)", "\(kubernetes)\(encoded)A", "",
    ] { #expect(admit(value) == .clientTokenMissing, "\(value)") }
    #expect(admit(token("A"), name: "Sec-WebSocket-Extensions") == .clientTokenMissing)
    #expect(admit(token("A"), name: "Sec_WebSocket.Protocol") == nil)
  }

  @Test func `T6: a caller must be on the list of users and on the list of clients`() {
    let caller = Caller(uid: 7)
    #expect(Callers(uids: nil).admits(caller) && Callers(uids: nil).admits(.network))
    #expect(Callers(uids: [7]).admits(caller))
    #expect(Callers(uids: [7]).verdict(on: .network) == .userNotListed)
    #expect(Callers(uids: []).verdict(on: caller) == .userNotListed)
    #expect(Callers(uids: nil, clients: ["a"]).verdict(on: caller) == .clientNotListed)
    #expect(Callers(uids: [7], clients: ["a"]).verdict(on: caller) == .clientNotListed)
    #expect(Callers(uids: [1], clients: ["a"]).verdict(on: caller) == .userNotListed)
  }

  @Test(arguments: [
    "", "sha256/", "sha256/AAAA", "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
    "SHA256/ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=", "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=",
    "sha256/ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0=", "sha256/ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0",
    "sha256/ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0= ",
  ])
  func `malformed or incomplete token digests are rejected`(_ text: String) {
    #expect(TokenDigest(parsing: text) == nil)
  }
}
