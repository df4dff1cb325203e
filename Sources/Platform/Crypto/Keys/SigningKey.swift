internal import COpenSSL
internal import Glibc

/// A private key that signs JSON Web Signatures (RFC 7515) with one algorithm.
package struct SigningKey: ~Copyable {
  /// Algorithms of JSON Web Signatures (RFC 7518 section 3.1, RFC 8037 section 3.1).
  package enum Algorithm: String, Sendable {
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    case rs256 = "RS256"
    /// ECDSA on P-256 with SHA-256.
    case es256 = "ES256"
    /// ECDSA on P-384 with SHA-384.
    case es384 = "ES384"
    /// ECDSA on P-521 with SHA-512.
    case es512 = "ES512"
    /// Ed25519.
    case edDSA = "EdDSA"
  }

  package let algorithm: Algorithm
  private let key: PrivateKey

  /// Accepted sizes of RSA keys in bits (RFC 7518 section 3.3).
  private static let sizes = 2048...8192

  /// Reads a key as `PrivateKey` does.
  package init(pem: UnsafeRawBufferPointer, passphrase: UnsafeRawBufferPointer? = nil) throws(PrivateKey.Problem) {
    let key = try PrivateKey(pem: pem, passphrase: passphrase)
    algorithm = try Self.algorithm(of: key.pointer)
    self.key = key
  }

  private static func algorithm(of key: OpaquePointer) throws(PrivateKey.Problem) -> Algorithm {
    switch EVP_PKEY_get_base_id(key) {
    case EVP_PKEY_RSA:
      let bits = Int(EVP_PKEY_get_bits(key))
      if sizes.contains(bits) { return .rs256 }
      throw PrivateKey.Problem(
        words: "is an RSA key of \(bits) bits: expected from \(sizes.lowerBound) to \(sizes.upperBound)")
    case EVP_PKEY_ED25519: return .edDSA
    case EVP_PKEY_EC:
      var name = [CChar](repeating: 0, count: 64)
      EVP_PKEY_get_group_name(key, &name, name.count, nil)
      switch OBJ_sn2nid(name) {
      case NID_X9_62_prime256v1: return .es256
      case NID_secp384r1: return .es384
      case NID_secp521r1: return .es512
      default: break
      }
    default: break
    }
    throw PrivateKey.Problem(
      words: "is not a key that bearerd can sign with: expected RSA, P-256, P-384, P-521 or Ed25519")
  }

  /// Signs the message, passes the signature to `body`, and then wipes it (RFC 7518 sections 3.3 and 3.4, RFC 8037
  /// section 3.1). Returns `false` if OpenSSL fails.
  package borrowing func withSignature<Failure: Error>(
    of message: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Void
  ) throws(Failure) -> Bool {
    ERR_clear_error()
    let buffer = UnsafeMutableRawBufferPointer.allocate(
      byteCount: max(128, Int(EVP_PKEY_get_size(key.pointer))), alignment: 1)
    defer {
      OPENSSL_cleanse(buffer.baseAddress, buffer.count)
      buffer.deallocate()
    }
    guard let count = sign(message, into: buffer) else { return false }
    try body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    return true
  }

  private borrowing func sign(_ message: UnsafeRawBufferPointer, into buffer: UnsafeMutableRawBufferPointer) -> Int? {
    guard let context = EVP_MD_CTX_new() else { return nil }
    defer { EVP_MD_CTX_free(context) }
    var count = buffer.count
    guard EVP_DigestSignInit(context, nil, digest, nil, key.pointer) == 1,
      EVP_DigestSign(
        context, buffer.baseAddress?.assumingMemoryBound(to: UInt8.self), &count,
        message.baseAddress?.assumingMemoryBound(to: UInt8.self), message.count) == 1
    else { return nil }
    switch algorithm {
    case .rs256, .edDSA: return count
    case .es256, .es384, .es512:
      return Self.convertToRaw(buffer, count: count, size: (EVP_PKEY_get_bits(key.pointer) + 7) / 8)
    }
  }

  /// The EVP_MD of the algorithm. `nil` for Ed25519, which has a digest of its own.
  private var digest: OpaquePointer? {
    switch algorithm {
    case .rs256, .es256: EVP_sha256()
    case .es384: EVP_sha384()
    case .es512: EVP_sha512()
    case .edDSA: nil
    }
  }

  /// Replaces a DER signature in `buffer` by R and S (RFC 7518 section 3.4), and returns their total length, or `nil`
  /// on failure.
  /// - Parameter size: Length in bytes of R, and of S.
  private static func convertToRaw(_ buffer: UnsafeMutableRawBufferPointer, count: Int, size: Int32) -> Int? {
    var start = UnsafePointer(buffer.baseAddress?.assumingMemoryBound(to: UInt8.self))
    guard let signature = d2i_ECDSA_SIG(nil, &start, count) else { return nil }
    defer { ECDSA_SIG_free(signature) }
    guard let bytes = buffer.baseAddress?.assumingMemoryBound(to: UInt8.self),
      BN_bn2binpad(ECDSA_SIG_get0_r(signature), bytes, size) == size,
      BN_bn2binpad(ECDSA_SIG_get0_s(signature), bytes + Int(size), size) == size
    else { return nil }
    return 2 * Int(size)
  }
}
