import Foundation
import Glibc
import Policy
import Settings
import System
import TLS
import TestSupport
import Testing

@_spi(SecretBytes) @testable import Credentials
@_spi(SecretBytes) @testable import Secrets

/// Signatures of RFC 5849, compared with published examples.
@Suite struct OAuth1Tests {
  /// A signed request: the base string and the field.
  private struct Signed {
    let base: String
    let line: String
    /// The percent-encoded base64 of the signature.
    var signature: String? {
      line.firstMatch(of: /oauth_signature="([^"]*)"/).map { String($0.1) }
    }
  }

  private func sign(
    _ method: String = "GET", _ origin: String, _ target: String, form: String = "",
    keys: (String, String, String, String), stamp: (Int64, String), privateKey: [UInt8]? = nil,
    callback: String? = nil, verifier: String? = nil, change: (inout OAuth1Client) -> Void = { _ in }
  ) throws -> Signed {
    var client = OAuth1Client(consumerKey: .plain(keys.0), consumerSecret: .env("A"))
    (client.token, client.tokenSecret) = keys.2.isEmpty ? (nil, nil) : (.env("B"), .env("C"))
    change(&client)
    let texts = [method, target, form, keys.0, keys.1, keys.2, keys.3, verifier ?? ""].enumerated().map { index, text in
      index == 4 ? privateKey ?? Array(text.utf8) : Array(text.utf8)
    }
    return try lend(texts) { parts in
      let signature = OAuth1Signature(
        client: client, stamp: OAuth1Signature.Stamp(timestamp: stamp.0, nonce: stamp.1), arena: SecretArena(),
        loginParameter: callback.map { .callback($0) } ?? verifier.map { _ in .verifier(parts[7]) })
      let keys = OAuth1Signature.Keys(
        consumer: parts[3], consumerSecret: parts[4], token: parts[5], tokenSecret: parts[6])
      let base = try signature.base(
        method: parts[0], origin: origin, target: parts[1], form: parts[2], keys: keys)
      let line = try signature.line(
        method: parts[0], origin: origin, target: parts[1], form: parts[2], keys: keys)
      switch line {
      case .some(let line): return Signed(base: text(base), line: text(line))
      case .none: throw TestFailure("not signed")
      }
    }
  }

  private func text(_ secret: borrowing Secret) -> String {
    secret.withBytes { String(decoding: $0, as: UTF8.self) }
  }

  private static let photos = ("dpf43f3p2l4k3l03", "kd94hf93k423kf44", "nnch734d00sl2jdk", "pfkkdhi9sl3r4s00")
  private static let photoStamp: (Int64, String) = (1_191_242_096, "kllo9940pd9333jh")

  @Test func `a signature matches OAuth Core 1.0 appendix A`() throws {
    let signed = try sign(
      "GET", "http://photos.example.net", "/photos?file=vacation.jpg&size=original", keys: Self.photos,
      stamp: Self.photoStamp)
    #expect(signed.signature == "tR3%2BTy81lMeYAr%2FFid0kMTYa%2FWM%3D")
    #expect(
      signed.line
        == "Authorization: OAuth oauth_consumer_key=\"dpf43f3p2l4k3l03\", oauth_nonce=\"kllo9940pd9333jh\", "
        + "oauth_signature_method=\"HMAC-SHA1\", oauth_timestamp=\"1191242096\", oauth_token=\"nnch734d00sl2jdk\", "
        + "oauth_version=\"1.0\", oauth_signature=\"tR3%2BTy81lMeYAr%2FFid0kMTYa%2FWM%3D\"\r\n")
  }

  @Test func `the requests of a login match RFC 5849 section 1.2`() throws {
    let (key, secret) = (Self.photos.0, Self.photos.1)
    func sign(
      _ target: String, _ token: (String, String), _ stamp: (Int64, String), callback: String? = nil,
      verifier: String? = nil
    ) throws -> Signed {
      try self.sign(
        verifier == nil && callback == nil ? "GET" : "POST",
        "http\(verifier == nil && callback == nil ? "" : "s")://photos.example.net", target,
        keys: (key, secret, token.0, token.1), stamp: stamp, callback: callback, verifier: verifier
      ) { $0.sendsVersion = false }
    }
    let first = try sign(
      "/initiate", ("", ""), (137_131_200, "wIjqoS"), callback: "http://printer.example.com/ready")
    #expect(first.signature == "74KNZJeDHnMBp0EMJ9ZHt%2FXKycU%3D")
    #expect(first.line.contains("oauth_callback=\"http%3A%2F%2Fprinter.example.com%2Fready\""))
    #expect(!first.line.contains("oauth_token"))
    let second = try sign(
      "/token", ("hh5s93j4hdidpola", "hdhd0244k9j7ao03"), (137_131_201, "walatlh"), verifier: "hfdp7dh39dks9884")
    #expect(second.signature == "gKgrFCywp7rO0OXSjdot%2FIHF7IU%3D")
    #expect(second.line.contains("oauth_verifier=\"hfdp7dh39dks9884\""))
    let third = try sign(
      "/photos?file=vacation.jpg&size=original", (Self.photos.2, Self.photos.3), (137_131_202, "chapoH"))
    #expect(third.signature == "MdpQcU8iPSUjWoN%2FUDMsK2sui9I%3D")
  }

  @Test(arguments: [("token", "secret"), ("t&%=", "s e&"), ("t", "")])
  func `a token and its secret are one value, and can be separated again`(_ token: String, _ secret: String) throws {
    let arena = SecretArena()
    func make(_ text: String) throws -> Secret {
      var made = try Secret(capacity: 16, in: arena)
      try made.append(text)
      return made
    }
    let pair = try Secret.oauth1Pair(token: try make(token), secret: try make(secret), in: arena)
    for (isSecret, expected) in [(false, token), (true, secret)] {
      switch try pair.oauth1Part(isSecret: isSecret, in: arena) {
      case .some(let part): #expect(text(part) == expected)
      case .none: Issue.record("no part")
      }
    }
    for damaged in ["token", "t&%", "t&%2", "t&%zz"] {
      switch try make(damaged).oauth1Part(isSecret: true, in: arena) {
      case .some: Issue.record("a part of \(damaged)")
      case .none: break
      }
    }
  }

  /// Computed with Python's hmac module.
  @Test func `an HMAC-SHA256 signature matches independent code`() throws {
    let signed = try sign(
      "GET", "http://photos.example.net", "/photos?file=vacation.jpg&size=original", keys: Self.photos,
      stamp: Self.photoStamp
    ) { $0.method = .hmacSHA256 }
    #expect(signed.signature == "WVPzl1j6ZsnkIjWr7e3OZ3jkenL57KwaLFhYsroX1hg%3D")
    #expect(signed.line.contains("oauth_signature_method=\"HMAC-SHA256\""))
  }

  /// Computed with `openssl dgst -sha1 -sign` and the key of RFC 7515 appendix A.2.
  @Test func `an RSA-SHA1 signature matches independent code and needs no shared secret`() throws {
    let base64 = KnownKeys.rsa.split(separator: "\n").dropFirst().dropLast().joined()
    let der = Array(try #require(Data(base64Encoded: base64)))
    for tokenSecret in ["", "pfkkdhi9sl3r4s00"] {
      let signed = try sign(
        "GET", "http://photos.example.net", "/photos?file=vacation.jpg&size=original",
        keys: (Self.photos.0, "", Self.photos.2, tokenSecret), stamp: Self.photoStamp, privateKey: der
      ) { $0.method = .rsaSHA1 }
      #expect(
        signed.signature
          == "djAh3CQFnoAccVIYNId373U2z%2FeeZrvnmrH%2F2w9sqQr6k0PkPiVyc3lNcjgMD10eo0ssHakFFKTEejRhE4NlSBSAFaL5nvQP"
          + "x5k0SG0g8XkJns1B%2Fpz1NrNIqecEOg2TedrVcDv7bSLROoO1pcr8E9zTF%2FRFDPZVFZcPJiAzaESjkzV%2Bia8SLFQBtMVMe2"
          + "J2tVlRxHPkyvSA%2Bf1SQsh4IwsveHnbN%2FEnGGrOx2%2BttgD4i1Y3BemSy%2F9Omv%2BeDsV4Hz1rdWzS%2FOMsbUeShX0xBX"
          + "oSxnMK0lGoiVHA%2Bt%2BjPMLw9GEVD8F2ggGz6osWE8WBUoNLqEMifEMySwMk7Jafrg%3D%3D")
      #expect(signed.base.contains("oauth_signature_method%3DRSA-SHA1"))
    }
  }

  /// The RFC itself prints a wrong signature for this request.
  @Test func `a signature base string matches RFC 5849 section 3.4.1.1`() throws {
    let signed = try sign(
      "POST", "http://example.com", "/request?b5=%3D%253D&a3=a&c%40=&a2=r%20b", form: "c2&a3=2+q",
      keys: ("9djdj82h48djs9d2", "j49sk3j29djd", "kkk9d7dh3k39sjv7", "dh893hdasih9"),
      stamp: (137_131_201, "7d8f3e4a")
    ) {
      $0.sendsVersion = false
      $0.realm = "Example"
    }
    #expect(
      signed.base
        == "POST&http%3A%2F%2Fexample.com%2Frequest&a2%3Dr%2520b%26a3%3D2%2520q%26a3%3Da%26b5%3D%253D%25253D%26c%2540"
        + "%3D%26c2%3D%26oauth_consumer_key%3D9djdj82h48djs9d2%26oauth_nonce%3D7d8f3e4a%26oauth_signature_method%3DHMAC"
        + "-SHA1%26oauth_timestamp%3D137131201%26oauth_token%3Dkkk9d7dh3k39sjv7")
    #expect(signed.signature == "r6%2FTJjbCOr97%2F%2BUU0NsvSne7s5g%3D")
    #expect(signed.line.hasPrefix("Authorization: OAuth realm=\"Example\", oauth_consumer_key="))
  }

  @Test func `equivalent encodings and another order of the query give the same signature`() throws {
    func signature(_ query: String) throws -> String? {
      try sign("GET", "https://a.test", "/x?" + query, keys: Self.photos, stamp: Self.photoStamp).signature
    }
    let one = try signature("b=1+2&a=%7e&a=B")
    for other in ["a=B&a=~&b=1%202", "&a=~&&b=1%20%32&a=%42&"] { #expect(try signature(other) == one) }
    for other in ["b=1%2B2&a=~&a=B", "b=1+2&a=~&a=b", "b=1+2&a=~"] { #expect(try signature(other) != one) }
  }

  @Test func `a PLAINTEXT signature is both secrets, encoded twice`() throws {
    let signed = try sign(
      "GET", "https://a.test", "/", keys: ("k y", "s&", "t", "ü"), stamp: Self.photoStamp
    ) { $0.method = .plaintext }
    #expect(signed.signature == "s%2526%26%25C3%25BC")
    #expect(signed.line.contains("oauth_consumer_key=\"k%20y\""))
    let alone = try sign(
      "GET", "https://a.test", "/", keys: ("k", "s", "", ""), stamp: Self.photoStamp
    ) { $0.method = .plaintext }
    #expect(alone.signature == "s%26" && !alone.line.contains("oauth_token"))
  }

  @Test func `every nonce is unique and has 32 hexadecimal digits`() {
    let nonces = Set((0..<100).map { _ in OAuth1Signature.Stamp(now: 1).nonce })
    #expect(nonces.count == 100 && nonces.allSatisfy { $0.count == 32 && $0.allSatisfy(\.isHexDigit) })
  }

  @Test func `T60: a request with more than 1024 parameters is not signed`() throws {
    func signature(_ count: Int) throws -> Signed {
      try sign(
        "GET", "https://a.test", "/?" + Array(repeating: "a", count: count).joined(separator: "&"), keys: Self.photos,
        stamp: Self.photoStamp)
    }
    #expect(try signature(1_000).signature != nil)
    #expect(throws: SystemError.self) { try signature(1_025) }
  }
}

/// Calls `body` with copies of the texts, which are valid only during the call.
func lend<Result>(
  _ texts: [[UInt8]], _ body: ([UnsafeRawBufferPointer]) throws -> Result
) throws -> Result {
  let all = texts.map { text -> UnsafeMutableRawBufferPointer in
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: text.count, alignment: 1)
    bytes.copyBytes(from: text)
    return bytes
  }
  defer { for bytes in all { bytes.deallocate() } }
  return try body(all.map { UnsafeRawBufferPointer($0) })
}
