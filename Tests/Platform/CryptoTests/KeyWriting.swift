import COpenSSL
import Crypto
import Testing

/// A new private key, which the test writes as PEM.
final class TestKey {
  enum Kind: CaseIterable { case rsa2048, rsa1024, p256, p384, p521, secp256k1, ed25519, ed448 }

  let pointer: OpaquePointer  // EVP_PKEY

  init(_ kind: Kind) throws {
    // Otherwise OpenSSL would not wipe memory, and `PrivateKey` would read no key.
    OpenSSLLibrary.start()
    let key =
      switch kind {
      case .rsa2048: bearerd_generate_rsa_key(2048)
      case .rsa1024: bearerd_generate_rsa_key(1024)
      case .p256: bearerd_generate_ec_key("P-256")
      case .p384: bearerd_generate_ec_key("P-384")
      case .p521: bearerd_generate_ec_key("P-521")
      case .secp256k1: bearerd_generate_ec_key("secp256k1")
      case .ed25519: bearerd_generate_key("ED25519")
      case .ed448: bearerd_generate_key("ED448")
      }
    pointer = try #require(key)
  }

  init(pem: String) throws {
    OpenSSLLibrary.start()
    let bytes = Array(pem.utf8)
    let bio = BIO_new_mem_buf(bytes, Int32(bytes.count))
    defer { BIO_free(bio) }
    pointer = try #require(PEM_read_bio_PrivateKey(bio, nil, nil, nil))
  }

  deinit { EVP_PKEY_free(pointer) }

  func pkcs8(_ passphrase: String? = nil) throws -> String {
    let cipher = passphrase == nil ? nil : EVP_aes_256_cbc()
    return try text {
      PEM_write_bio_PKCS8PrivateKey($0, pointer, cipher, passphrase, Int32(passphrase?.utf8.count ?? 0), nil, nil)
    }
  }

  /// PKCS #1 or SEC 1.
  func traditional(_ passphrase: String? = nil) throws -> String {
    let cipher = passphrase == nil ? nil : EVP_aes_128_cbc()
    let bytes = Array((passphrase ?? "").utf8)
    return try text {
      PEM_write_bio_PrivateKey_traditional($0, pointer, cipher, bytes, Int32(bytes.count), nil, nil)
    }
  }

  /// PKCS #8, encrypted with a key from this function.
  func pkcs8(_ passphrase: String, _ derivation: Derivation) throws -> String {
    let info = EVP_PKEY2PKCS8(pointer)
    defer { PKCS8_PRIV_KEY_INFO_free(info) }
    // The envelope owns the algorithm.
    let envelope = try #require(
      PKCS8_set0_pbe(passphrase, Int32(passphrase.utf8.count), info, try derivation.algorithm()))
    defer { X509_SIG_free(envelope) }
    return try text { PEM_write_bio_PKCS8($0, envelope) }
  }

  func isValid(_ signature: [UInt8], of message: String) -> Bool {
    let context = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(context) }
    let digest =
      switch EVP_PKEY_get_bits(pointer) {
      case 384: EVP_sha384()
      case 521: EVP_sha512()
      default: EVP_PKEY_get_base_id(pointer) == EVP_PKEY_ED25519 ? nil : EVP_sha256()
      }
    let bytes = Array(message.utf8)
    let signature = EVP_PKEY_get_base_id(pointer) == EVP_PKEY_EC ? Self.der(signature) : signature
    return EVP_DigestVerifyInit(context, nil, digest, nil, pointer) == 1
      && EVP_DigestVerify(context, signature, signature.count, bytes, bytes.count) == 1
  }

  /// Converts R and S, each in half of the bytes, to an ECDSA_SIG.
  private static func der(_ raw: [UInt8]) -> [UInt8] {
    let (pair, size) = (ECDSA_SIG_new(), raw.count / 2)
    defer { ECDSA_SIG_free(pair) }
    ECDSA_SIG_set0(pair, BN_bin2bn(raw, Int32(size), nil), BN_bin2bn(Array(raw[size...]), Int32(size), nil))
    var der: UnsafeMutablePointer<UInt8>?
    let count = i2d_ECDSA_SIG(pair, &der)
    defer { bearerd_OPENSSL_free(der) }
    return Array(UnsafeBufferPointer(start: der, count: Int(count)))
  }
}

/// How the key of an encrypted PKCS #8 key is derived from its passphrase.
enum Derivation: Sendable {
  case pbkdf2(iterations: Int32)
  case scrypt(n: UInt64, r: UInt64, p: UInt64)
  /// Triple DES (RFC 7292 appendix C).
  case pkcs12(iterations: Int32)

  /// Returns an X509_ALGOR, which the caller owns.
  func algorithm() throws -> UnsafeMutablePointer<X509_ALGOR> {
    OpenSSLLibrary.start()
    var salt: [UInt8] = Array(0..<16)
    let algorithm =
      switch self {
      case .pbkdf2(let iterations):
        PKCS5_pbe2_set_iv(EVP_aes_256_cbc(), iterations, &salt, 16, nil, NID_hmacWithSHA256)
      case .scrypt(let n, let r, let p): PKCS5_pbe2_set_scrypt(EVP_aes_256_cbc(), salt, 16, nil, n, r, p)
      case .pkcs12(let iterations): PKCS5_pbe_set(NID_pbe_WithSHA1And3_Key_TripleDES_CBC, iterations, salt, 16)
      }
    return try #require(algorithm)
  }

  /// PKCS #8 with this function and random bytes instead of a key.
  func pemWithoutKey() throws -> String {
    let algorithm = try algorithm()
    defer { X509_ALGOR_free(algorithm) }
    let envelope = X509_SIG_new()
    defer { X509_SIG_free(envelope) }
    var (own, bytes) = (UnsafeMutablePointer<X509_ALGOR>?.none, UnsafeMutablePointer<ASN1_OCTET_STRING>?.none)
    X509_SIG_getm(envelope, &own, &bytes)
    try #require(X509_ALGOR_copy(own, algorithm) == 1 && ASN1_OCTET_STRING_set(bytes, Array(0..<64), 64) == 1)
    return try text { PEM_write_bio_PKCS8($0, envelope) }
  }
}

private func text(_ write: (OpaquePointer?) -> Int32) throws -> String {
  let bio = BIO_new(BIO_s_mem())
  defer { BIO_free(bio) }
  try #require(write(bio) == 1)
  var bytes: UnsafeMutablePointer<CChar>?
  let count = bearerd_BIO_get_mem_data(bio, &bytes)
  return String(decoding: UnsafeRawBufferPointer(start: bytes, count: count), as: UTF8.self)
}

func signingKey(_ pem: String, passphrase: String? = nil) throws(PrivateKey.Problem) -> SigningKey {
  let (pem, word) = (Array(pem.utf8), Array((passphrase ?? "").utf8))
  return try pem.span.withUnsafeBytes { (pem) throws(PrivateKey.Problem) in
    try word.span.withUnsafeBytes { (word) throws(PrivateKey.Problem) in
      try SigningKey(pem: pem, passphrase: passphrase == nil ? nil : word)
    }
  }
}

/// Why a key cannot be used. `nil` if the key can be used.
func problem(_ pem: String, passphrase: String? = nil) -> String? {
  do throws(PrivateKey.Problem) {
    _ = try signingKey(pem, passphrase: passphrase)
    return nil
  } catch {
    return error.words
  }
}

func signature(_ key: borrowing SigningKey, _ message: String) throws -> [UInt8] {
  var signature: [UInt8] = []
  let bytes = Array(message.utf8)
  let isSigned = bytes.span.withUnsafeBytes { bytes in key.withSignature(of: bytes) { signature = Array($0) } }
  try #require(isSigned)
  return signature
}
