internal import COpenSSL
package import Policy

extension PrivateKey {
  /// Creates an EC key on the curve P-256 (FIPS 186-5).
  package static func newP256() throws(Problem) -> PrivateKey {
    OpenSSLLibrary.start()
    guard OpenSSLLibrary.wipesMemory else {
      throw Problem(words: "cannot be created safely: this process used OpenSSL before bearerd prepared it (a bug)")
    }
    ERR_clear_error()
    defer { ERR_clear_error() }
    guard let pointer = FreedMemory.wiped(during: { bearerd_generate_ec_key("prime256v1") }) else {
      throw Problem(words: "cannot be created: OpenSSL has no random numbers, or no curve P-256")
    }
    return PrivateKey(owning: pointer)
  }

  private init(owning pointer: OpaquePointer) { self.pointer = pointer }

  /// Passes the unencrypted key to `body` as PKCS #8 in PEM (RFC 7468 section 10), and then wipes this text. Returns
  /// `nil` if OpenSSL fails.
  package borrowing func withPEM<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result? {
    ERR_clear_error()
    defer { ERR_clear_error() }
    let key = pointer
    return try FreedMemory.wiped { () throws(Failure) in
      guard let bio = BIO_new(BIO_s_mem()) else { return nil }
      defer { BIO_free(bio) }
      var text: UnsafeMutablePointer<CChar>?
      guard PEM_write_bio_PKCS8PrivateKey(bio, key, nil, nil, 0, nil, nil) == 1,
        case let count = bearerd_BIO_get_mem_data(bio, &text), count > 0
      else { return nil }
      return try body(UnsafeRawBufferPointer(start: text, count: count))
    }
  }

  /// The pin of the public key; `nil` if OpenSSL fails.
  package var pin: Pin? {
    ERR_clear_error()
    defer { ERR_clear_error() }
    var der: UnsafeMutablePointer<UInt8>?
    let count = i2d_PUBKEY(pointer, &der)
    defer { bearerd_OPENSSL_free(der) }
    guard count > 0 else { return nil }
    var digest: [UInt8] = []
    guard sha256(of: Array(UnsafeBufferPointer(start: der, count: Int(count))).span, into: &digest) else { return nil }
    return Pin(digest: digest)
  }
}
