import Crypto
import Policy
import Testing

@Suite struct TokenDigestTests {
  /// FIPS 180-2, appendix B.
  @Test func `a token digest is a SHA-256 hash`() {
    let abc = TokenDigest.of(Array("abc".utf8).span)
    #expect(abc?.description == "sha256/ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=")
    let long = TokenDigest.of(Array("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq".utf8).span)
    #expect(long?.description == "sha256/JI1qYdIGOLjlwCaTDD5gOaM85Flk/yFn9uzt1BnbBsE=")
  }
}
