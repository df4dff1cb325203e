import Crypto
import TestSupport
import Testing

@Suite struct SigningKeyTests {
  private static let payload =
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"

  @Test(arguments: [
    KnownKeys.rsa, KnownKeys.rsaPKCS1, "# mine\n-----X\n" + KnownKeys.rsa.replacing("\n", with: "\r\n"),
  ])
  func `an RS256 signature matches RFC 7515 appendix A.2`(_ pem: String) throws {
    let key = try signingKey(pem)
    #expect(key.algorithm == .rs256)
    let signature = try signature(key, "eyJhbGciOiJSUzI1NiJ9.\(Self.payload)")
    #expect(
      base64URL(signature)
        == "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t"
        + "1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12j"
        + "zDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQ"
        + "Ge77Rw")
  }

  @Test func `an EdDSA signature matches RFC 8037 appendix A.4`() throws {
    let key = try signingKey(KnownKeys.ed25519)
    #expect(key.algorithm == .edDSA)
    #expect(
      base64URL(try signature(key, "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc"))
        == "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg")
  }

  @Test func `the signature check of these tests accepts RFC 7515 appendix A.3 and nothing else`() throws {
    let key = try TestKey(pem: KnownKeys.ec)
    let known = try #require(
      octets("DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"))
    let message = "eyJhbGciOiJFUzI1NiJ9.\(Self.payload)"
    #expect(key.isValid(known, of: message))
    #expect(!key.isValid(known, of: message + "x"))
  }

  @Test(arguments: [
    (TestKey.Kind.p256, SigningKey.Algorithm.es256, 64), (.p384, .es384, 96), (.p521, .es512, 132),
    (.rsa2048, .rs256, 256), (.ed25519, .edDSA, 64),
  ])
  func `the key decides the algorithm, and each signature is valid and has the algorithm's size`(
    _ kind: TestKey.Kind, _ algorithm: SigningKey.Algorithm, _ size: Int
  ) throws {
    let made = try TestKey(kind)
    let key = try signingKey(made.pkcs8())
    #expect(key.algorithm == algorithm)
    // One of about 128 ECDSA signatures has a number with a leading zero byte.
    for index in 0..<(kind == .rsa2048 ? 1 : 300) {
      let signature = try signature(key, "message \(index)")
      #expect(signature.count == size)
      #expect(made.isValid(signature, of: "message \(index)"))
    }
  }

  @Test(arguments: [TestKey.Kind.rsa1024, .secp256k1, .ed448])
  func `a key that no algorithm uses is refused`(_ kind: TestKey.Kind) throws {
    let words = try #require(problem(try TestKey(kind).pkcs8()))
    #expect(words.contains(kind == .rsa1024 ? "1024 bits" : "expected RSA"))
  }
}
