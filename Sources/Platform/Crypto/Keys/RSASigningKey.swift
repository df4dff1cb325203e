internal import COpenSSL

/// An RSA key for signatures with SHA-1 (RSASSA-PKCS1-v1_5, RFC 8017 section 8.2), which OAuth 1.0 needs (RFC 5849
/// section 3.4.3).
package struct RSASigningKey: ~Copyable {
  private let key: PrivateKey

  /// Accepted sizes of keys in bits.
  private static let sizes = 2048...8192

  /// Reads a key as `PrivateKey` does.
  package init(pem: UnsafeRawBufferPointer, passphrase: UnsafeRawBufferPointer? = nil) throws(PrivateKey.Problem) {
    let key = try PrivateKey(pem: pem, passphrase: passphrase)
    guard EVP_PKEY_get_base_id(key.pointer) == EVP_PKEY_RSA else {
      throw PrivateKey.Problem(words: "is not an RSA key, which rsa-sha1 needs")
    }
    let bits = Int(EVP_PKEY_get_bits(key.pointer))
    guard Self.sizes.contains(bits) else {
      throw PrivateKey.Problem(
        words: "is an RSA key of \(bits) bits: expected from \(Self.sizes.lowerBound) to \(Self.sizes.upperBound)")
    }
    self.key = key
  }

  /// Reads a key that `withDER` has written.
  package init(der: UnsafeRawBufferPointer) throws(PrivateKey.Problem) { key = try PrivateKey(der: der) }

  /// Passes the key in DER to `body`. See `PrivateKey.withDER`.
  package borrowing func withDER<Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Void
  ) throws(Failure) -> Bool {
    try key.withDER(body)
  }

  /// Returns the signature of the message. `nil` if OpenSSL fails.
  package borrowing func sha1Signature(of message: UnsafeRawBufferPointer) -> [UInt8]? {
    ERR_clear_error()
    defer { ERR_clear_error() }
    guard let context = EVP_MD_CTX_new() else { return nil }
    defer { EVP_MD_CTX_free(context) }
    var signature = [UInt8](repeating: 0, count: Int(EVP_PKEY_get_size(key.pointer)))
    var count = signature.count
    guard EVP_DigestSignInit(context, nil, EVP_sha1(), nil, key.pointer) == 1,
      EVP_DigestSign(
        context, &signature, &count, message.baseAddress?.assumingMemoryBound(to: UInt8.self), message.count) == 1,
      count == signature.count
    else { return nil }
    return signature
  }
}
