internal import COpenSSL
internal import Glibc

/// A private key that signs JSON Web Signatures (RFC 7515) with one algorithm.
package struct SigningKey: ~Copyable {
  /// Algorithms of JSON Web Signatures (RFC 7518 section 3.1).
  package enum Algorithm: String, Sendable {
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    case rs256 = "RS256"
    /// ECDSA on P-256 with SHA-256.
    case es256 = "ES256"
  }

  /// Why the key cannot be used. Contains no byte of the key.
  package struct Problem: Error, Sendable, Equatable {
    package let words: String
  }

  package let algorithm: Algorithm
  private let key: OpaquePointer  // EVP_PKEY

  /// Accepted sizes of RSA keys in bits (RFC 7518 section 3.3).
  private static let sizes = 2048...8192

  /// - Parameter pem: PKCS #8, PKCS #1 or SEC 1; not encrypted. Borrowed for the call.
  package init(pem: UnsafeRawBufferPointer) throws(Problem) {
    OpenSSLLibrary.start()
    ERR_clear_error()
    defer { ERR_clear_error() }
    (algorithm, key) = try Self.read(pem)
  }

  deinit { EVP_PKEY_free(key) }

  private static func read(_ pem: UnsafeRawBufferPointer) throws(Problem) -> (Algorithm, OpaquePointer) {
    let numbers = try PrivateKeyNumbers(pem: pem)
    guard let key = numbers.makeKey() else {
      throw Problem(words: "has numbers that do not form a valid key")
    }
    switch numbers.kind {
    case .p256: return (.es256, key)
    case .p384:
      EVP_PKEY_free(key)
      throw .unsupportedType
    case .rsa:
      let bits = Int(EVP_PKEY_get_bits(key))
      if sizes.contains(bits) { return (.rs256, key) }
      EVP_PKEY_free(key)
      throw Problem(words: "is an RSA key of \(bits) bits: expected from \(sizes.lowerBound) to \(sizes.upperBound)")
    }
  }

  /// Signs the message, passes the signature to `body`, and then wipes it (RFC 7518 sections 3.3 and 3.4). Returns
  /// `false` if OpenSSL fails.
  package borrowing func withSignature<Failure: Error>(
    of message: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Void
  ) throws(Failure) -> Bool {
    ERR_clear_error()
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: max(64, Int(EVP_PKEY_get_size(key))), alignment: 1)
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
    guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1,
      EVP_DigestSign(
        context, buffer.baseAddress?.assumingMemoryBound(to: UInt8.self), &count,
        message.baseAddress?.assumingMemoryBound(to: UInt8.self), message.count) == 1
    else { return nil }
    switch algorithm {
    case .rs256: return count
    case .es256: return Self.convertToRaw(buffer, count: count)
    }
  }

  /// Replaces a DER signature in `buffer` by R and S (RFC 7518 section 3.4), and returns their total length, or `nil`
  /// on failure.
  private static func convertToRaw(_ buffer: UnsafeMutableRawBufferPointer, count: Int) -> Int? {
    var start = UnsafePointer(buffer.baseAddress?.assumingMemoryBound(to: UInt8.self))
    guard let signature = d2i_ECDSA_SIG(nil, &start, count) else { return nil }
    defer { ECDSA_SIG_free(signature) }
    guard let bytes = buffer.baseAddress?.assumingMemoryBound(to: UInt8.self),
      BN_bn2binpad(ECDSA_SIG_get0_r(signature), bytes, 32) == 32,
      BN_bn2binpad(ECDSA_SIG_get0_s(signature), bytes + 32, 32) == 32
    else { return nil }
    return 64
  }
}
