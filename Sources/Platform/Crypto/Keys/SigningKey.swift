internal import COpenSSL
internal import Glibc

/// A private key that signs JSON Web Signatures (RFC 7515), by the one algorithm that it is for.
package struct SigningKey: ~Copyable {
  /// RFC 7518 section 3.1.
  package enum Algorithm: String, Sendable {
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    case rs256 = "RS256"
    /// ECDSA on P-256 with SHA-256.
    case es256 = "ES256"
  }

  /// Why it is none: the end of a sentence that begins with the name of what was read. Never a byte of it.
  package struct Problem: Error, Sendable, Equatable {
    package let words: String
  }

  package let algorithm: Algorithm
  private let key: OpaquePointer  // EVP_PKEY

  /// RFC 7518 section 3.3; and more than anybody signs with.
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
      throw .otherKind
    case .rsa:
      let bits = Int(EVP_PKEY_get_bits(key))
      if sizes.contains(bits) { return (.rs256, key) }
      EVP_PKEY_free(key)
      throw Problem(words: "is an RSA key of \(bits) bits: expected from \(sizes.lowerBound) to \(sizes.upperBound)")
    }
  }

  /// Signs, and lends the signature as RFC 7518 writes it (sections 3.3 and 3.4). It is wiped afterwards.
  package borrowing func withSignature<Failure: Error>(
    of message: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Void
  ) throws(Failure) -> Bool {
    ERR_clear_error()
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: max(64, Int(EVP_PKEY_get_size(key))), alignment: 1)
    defer {
      OPENSSL_cleanse(room.baseAddress, room.count)
      room.deallocate()
    }
    guard let count = sign(message, into: room) else { return false }
    try body(UnsafeRawBufferPointer(rebasing: room[..<count]))
    return true
  }

  /// How many bytes of `room` are the signature; nil: OpenSSL could not.
  private borrowing func sign(_ message: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer) -> Int? {
    guard let context = EVP_MD_CTX_new() else { return nil }
    defer { EVP_MD_CTX_free(context) }
    var count = room.count
    guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1,
      EVP_DigestSign(
        context, room.baseAddress?.assumingMemoryBound(to: UInt8.self), &count,
        message.baseAddress?.assumingMemoryBound(to: UInt8.self), message.count) == 1
    else { return nil }
    switch algorithm {
    case .rs256: return count
    case .es256: return Self.flatten(room, count: count)
    }
  }

  /// DER's two numbers become R and S, 32 bytes each (RFC 7518 section 3.4).
  private static func flatten(_ room: UnsafeMutableRawBufferPointer, count: Int) -> Int? {
    var start = UnsafePointer(room.baseAddress?.assumingMemoryBound(to: UInt8.self))
    guard let signature = d2i_ECDSA_SIG(nil, &start, count) else { return nil }
    defer { ECDSA_SIG_free(signature) }
    guard let bytes = room.baseAddress?.assumingMemoryBound(to: UInt8.self),
      BN_bn2binpad(ECDSA_SIG_get0_r(signature), bytes, 32) == 32,
      BN_bn2binpad(ECDSA_SIG_get0_s(signature), bytes + 32, 32) == 32
    else { return nil }
    return 64
  }
}
