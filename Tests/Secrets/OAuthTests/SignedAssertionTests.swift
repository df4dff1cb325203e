import Credentials
import Secrets
import OAuth
import Crypto
import Settings
import TestSupport
import Testing

/// Signed assertions in token requests.
@Suite struct SignedAssertionTests {
  @Test func `an assertion has the expected claims and a valid signature`() throws {
    var assertion = TokenAssertion(key: SigningKeySource(somewhere, identifier: "k\"1"))
    assertion.issuer = "me@example.com"
    assertion.subject = "joe\\ \u{1} ü"
    assertion.claims = [TokenParameter("scope", "a b")]
    let body = try rendered(try source(.jwtBearer(assertion)), .token, [.assertionKey: KnownKeys.rsa]).body
    let fields = body.split(separator: "&")
    #expect(fields[0] == "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer")
    #expect(fields.last == "client_id=bearerd")
    let parts = try #require(fields[1].split(separator: "=").last).split(separator: ".").map(String.init)
    #expect(try text(parts[0]) == #"{"alg":"RS256","typ":"JWT","kid":"k\"1"}"#)
    #expect(
      try text(parts[1])
        == #"{"iss":"me@example.com","sub":"joe\\ \u0001 ü","aud":"https://login.example.com/oauth2/token","iat":1700000000,"#
        + #""exp":1700000240,"jti":"000102030405060708090a0b0c0d0e0fa","scope":"a b"}"#)
    let key = try signingKey(KnownKeys.rsa)
    #expect(base64URL(try signature(key, "\(parts[0]).\(parts[1])")) == parts[2])
  }

  @Test func `a client assertion names the endpoint or the configured audience`() throws {
    for (audience, wanted) in [
      (nil, "https://login.example.com/oauth2/token"), ("https://issuer.example.com", "https://issuer.example.com"),
    ] {
      let client = TokenClient.Authentication.privateKeyJWT(SigningKeySource(somewhere), audience: audience)
      let (head, body) = try rendered(
        source(.refreshToken(first: nil), client), .token, [.refreshToken: "r", .clientKey: KnownKeys.ec])
      #expect(!head.contains { $0.hasPrefix("Authorization") })
      let start =
        "grant_type=refresh_token&refresh_token=r&client_id=bearerd"
        + "&client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer&client_assertion="
      #expect(body.hasPrefix(start))
      let parts = body.dropFirst(start.utf8.count).split(separator: ".").map(String.init)
      #expect(try text(parts[0]) == #"{"alg":"ES256","typ":"JWT"}"#)
      #expect(
        try text(parts[1])
          == #"{"iss":"bearerd","sub":"bearerd","aud":"\#(wanted)","iat":1700000000,"exp":1700000240,"#
          + #""jti":"000102030405060708090a0b0c0d0e0fc"}"#)
      #expect(octets(parts[2])?.count == 64)
    }
  }

  @Test func `every assertion is unique, and random bytes are required`() throws {
    let source = try source(
      .jwtBearer(TokenAssertion(key: SigningKeySource(somewhere))),
      .privateKeyJWT(SigningKeySource(somewhere), audience: nil))
    let keys: [TokenSecrets.Role: String] = [.assertionKey: KnownKeys.rsa, .clientKey: KnownKeys.rsa]
    var seen: Set<String> = []
    for first in 0..<4 as Range<UInt8> {
      let moment = TokenRequest.Moment(now: 0, nonce: [first] + Array(repeating: 0, count: 15))
      let body = try rendered(source, .token, keys, at: moment).body
      for field in body.split(separator: "&") where field.contains("assertion=") {
        seen.insert(String(field.drop { $0 != "=" }))
      }
    }
    #expect(seen.count == 8)
    for moment in [TokenRequest.Moment(now: 0, nonce: []), TokenRequest.Moment(now: 0, nonce: Array(0..<15))] {
      #expect(throws: SecretProblem.self) { try rendered(source, .token, keys, at: moment) }
    }
    // Extreme times do not trap.
    for now in [Int64.min, .max] {
      _ = try rendered(source, .token, keys, at: TokenRequest.Moment(now: now, nonce: Array(0..<16)))
    }
  }

  @Test func `an encrypted signing key needs its passphrase`() throws {
    let key = SigningKeySource(.file("/k.pem"), passphrase: .file("/k.word"))
    let source = try source(.jwtBearer(TokenAssertion(key: key)))
    #expect(source.sources.map(\.role) == [.assertionKey, .passphrase])
    let secrets: [TokenSecrets.Role: String] = [.assertionKey: KnownKeys.encrypted, .passphrase: "swordfish"]
    #expect(try rendered(source, .token, secrets).body.contains("assertion="))
    #expect(
      try #require(try problem(source, .token, [.assertionKey: KnownKeys.encrypted, .passphrase: "x"])).hasPrefix(
        "/k.pem cannot be decrypted"))
    let plain = try OAuthTests.source(.jwtBearer(TokenAssertion(key: SigningKeySource(.file("/k.pem")))))
    #expect(
      try problem(plain, .token, [.assertionKey: KnownKeys.encrypted])
        == "/k.pem is encrypted: add passphrase: { file: NAME }")
  }

  @Test func `an unusable signing key is named by its source`() throws {
    let source = try source(.jwtBearer(TokenAssertion(key: SigningKeySource(.file("/k.pem")))))
    let sentence = try #require(try problem(source, .token, [.assertionKey: "swordfish"]))
    #expect(sentence.hasPrefix("/k.pem ") && !sentence.contains("swordfish"))
  }
}

private func signingKey(_ pem: String) throws(PrivateKey.Problem) -> SigningKey {
  let bytes = Array(pem.utf8)
  return try bytes.span.withUnsafeBytes { (bytes) throws(PrivateKey.Problem) in try SigningKey(pem: bytes) }
}

private func signature(_ key: borrowing SigningKey, _ message: String) throws -> [UInt8] {
  var signature: [UInt8] = []
  let bytes = Array(message.utf8)
  let isSigned = bytes.span.withUnsafeBytes { bytes in key.withSignature(of: bytes) { signature = Array($0) } }
  try #require(isSigned)
  return signature
}

private func text(_ encoded: String) throws -> String { String(decoding: try #require(octets(encoded)), as: UTF8.self) }
