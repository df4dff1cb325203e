import COpenSSL
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

  @Test(arguments: [KnownKeys.ec, KnownKeys.ecPKCS8])
  func `an ES256 signature has 64 bytes and is valid`(_ pem: String) throws {
    let key = try signingKey(pem)
    #expect(key.algorithm == .es256)
    let message = "eyJhbGciOiJFUzI1NiJ9.\(Self.payload)"
    // One of about 128 signatures has a number with a leading zero byte.
    for _ in 0..<300 {
      let signature = try signature(key, message)
      #expect(signature.count == 64)
      #expect(isValid(signature, of: message))
    }
    // RFC 7515 appendix A.3. Shows that `isValid` rejects a wrong signature.
    let known = try #require(
      octets("DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"))
    #expect(isValid(known, of: message))
    #expect(!isValid(known, of: message + "x"))
  }

  @Test func `an unusable key is refused with a message that contains no secret`() throws {
    var small = bearerd_generate_rsa_key(1024), curve = bearerd_generate_ec_key("secp384r1")
    var other = bearerd_generate_ed25519_key()
    defer { for key in [small, curve, other] { EVP_PKEY_free(key) } }
    (small, curve, other) = (small, curve, other)
    let encrypted = KnownKeys.pem("ENCRYPTED PRIVATE KEY", "MAAA")
    for text in [
      "", "swordfish", KnownKeys.pem("PRIVATE KEY", "MAAA"), KnownKeys.pem("PUBLIC KEY", "MAAA"), encrypted,
      try pem(small), try pem(curve), try pem(other), try pem(small, password: "swordfish"),
      String(KnownKeys.rsa.dropLast(60)),
    ] {
      do {
        _ = try signingKey(text)
        Issue.record("taken")
      } catch {
        #expect(!error.words.contains("swordfish") && !error.words.isEmpty)
      }
    }
  }

  @Test func `a damaged key file does not trap`() {
    for pem in [KnownKeys.ec, KnownKeys.ecPKCS8, KnownKeys.rsa] {
      let bytes = Array(pem.utf8)
      // In the RSA key, only the first bytes contain lengths.
      for index in bytes.indices.prefix(pem == KnownKeys.rsa ? 100 : bytes.count) {
        _ = try? signingKey(String(decoding: bytes[..<index], as: UTF8.self))
        for byte in [0x41, 0x2F, 0x2D, bytes[index] ^ 1, bytes[index] ^ 0x20] as [UInt8] {
          var changed = bytes
          changed[index] = byte
          _ = try? signingKey(String(decoding: changed, as: UTF8.self))
        }
      }
    }
  }
}

private func signingKey(_ pem: String) throws(SigningKey.Problem) -> SigningKey {
  let bytes = Array(pem.utf8)
  return try bytes.span.withUnsafeBytes { (bytes) throws(SigningKey.Problem) in try SigningKey(pem: bytes) }
}

private func signature(_ key: borrowing SigningKey, _ message: String) throws -> [UInt8] {
  var signature: [UInt8] = []
  let bytes = Array(message.utf8)
  let isSigned = bytes.span.withUnsafeBytes { bytes in key.withSignature(of: bytes) { signature = Array($0) } }
  try #require(isSigned)
  return signature
}

/// Verifies a signature with the public key of RFC 7515 appendix A.3.
private func isValid(_ signature: [UInt8], of message: String) -> Bool {
  let pem = Array(KnownKeys.ec.utf8)
  let bio = BIO_new_mem_buf(pem, Int32(pem.count))
  defer { BIO_free(bio) }
  let key = PEM_read_bio_PrivateKey(bio, nil, nil, nil)
  defer { EVP_PKEY_free(key) }
  let pair = ECDSA_SIG_new()
  defer { ECDSA_SIG_free(pair) }
  ECDSA_SIG_set0(pair, BN_bin2bn(signature, 32, nil), BN_bin2bn(Array(signature[32...]), 32, nil))
  var der: UnsafeMutablePointer<UInt8>?
  let count = i2d_ECDSA_SIG(pair, &der)
  defer { bearerd_OPENSSL_free(der) }
  let context = EVP_MD_CTX_new()
  defer { EVP_MD_CTX_free(context) }
  let bytes = Array(message.utf8)
  return EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1
    && EVP_DigestVerify(context, der, Int(count), bytes, bytes.count) == 1
}

private func pem(_ key: OpaquePointer?, password: String? = nil) throws -> String {
  let bio = BIO_new(BIO_s_mem())
  defer { BIO_free(bio) }
  let cipher = password == nil ? nil : EVP_aes_128_cbc()
  let word = (password ?? "").utf8CString.dropLast().map { $0 }
  try #require(PEM_write_bio_PKCS8PrivateKey(bio, key, cipher, word, Int32(word.count), nil, nil) == 1)
  var bytes: UnsafeMutablePointer<CChar>?
  let count = bearerd_BIO_get_mem_data(bio, &bytes)
  return String(decoding: UnsafeRawBufferPointer(start: bytes, count: count), as: UTF8.self)
}
