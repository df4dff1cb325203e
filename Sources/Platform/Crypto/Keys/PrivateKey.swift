internal import COpenSSL
internal import Glibc

/// A private key that OpenSSL has read from PEM (RFC 7468). OpenSSL wipes the key after use.
package struct PrivateKey: ~Copyable {
  /// Why the key cannot be used. Contains no byte of the key.
  package struct Problem: Error, Sendable, Equatable {
    package let words: String
  }

  package let pointer: OpaquePointer  // EVP_PKEY

  /// Maximum size of a PEM text, in bytes. A key of 8192 bits has about 6,500 bytes.
  private static let maximumSize = 65_536

  /// Reads the first private key in a text. Other PEM blocks and text before the key are ignored.
  /// - Parameters:
  ///   - pem: PKCS #8, PKCS #1 or SEC 1, perhaps encrypted. Borrowed for the call.
  ///   - passphrase: The passphrase of an encrypted key; `nil` if there is none. Borrowed for the call.
  package init(pem: UnsafeRawBufferPointer, passphrase: UnsafeRawBufferPointer? = nil) throws(Problem) {
    OpenSSLLibrary.start()
    guard OpenSSLLibrary.wipesMemory else {
      throw Problem(words: "cannot be read safely: this process used OpenSSL before bearerd prepared it (a bug)")
    }
    guard pem.count <= Self.maximumSize else {
      throw Problem(words: "is larger than \(Self.maximumSize) bytes: this is not a private key in PEM")
    }
    ERR_clear_error()
    defer { ERR_clear_error() }
    pointer = try FreedMemory.wiped { () throws(Problem) in try Self.key(in: pem, passphrase) }
  }

  /// Reads a key that `withDER` has written. Borrows the bytes for the call.
  package init(der: UnsafeRawBufferPointer) throws(Problem) {
    OpenSSLLibrary.start()
    ERR_clear_error()
    defer { ERR_clear_error() }
    pointer = try FreedMemory.wiped { () throws(Problem) in
      var start = UnsafePointer(der.baseAddress?.assumingMemoryBound(to: UInt8.self))
      guard start != nil, let key = d2i_AutoPrivateKey(nil, &start, der.count) else { throw .malformed }
      return key
    }
  }

  deinit { EVP_PKEY_free(pointer) }

  /// Passes the key in DER, without encryption, to `body`, and then wipes these bytes. Returns `false` if OpenSSL fails.
  package borrowing func withDER<Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Void
  ) throws(Failure) -> Bool {
    ERR_clear_error()
    defer { ERR_clear_error() }
    var bytes: UnsafeMutablePointer<UInt8>?
    let count = FreedMemory.wiped { i2d_PrivateKey(pointer, &bytes) }
    guard count > 0, let bytes else { return false }
    defer {
      OPENSSL_cleanse(bytes, Int(count))
      bearerd_OPENSSL_free(bytes)
    }
    try body(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
    return true
  }

  /// Returns an EVP_PKEY, which the caller owns.
  private static func key(
    in pem: UnsafeRawBufferPointer, _ passphrase: UnsafeRawBufferPointer?
  ) throws(Problem) -> OpaquePointer {
    guard let text = pem.baseAddress.flatMap({ BIO_new_mem_buf($0, Int32(pem.count)) }) else { throw .noPEM }
    defer { BIO_free(text) }
    var prompt = Prompt(passphrase: passphrase)
    var (bytes, count) = (UnsafeMutablePointer<UInt8>?.none, 0)
    let status = PEM_bytes_read_bio(&bytes, &count, nil, PEM_STRING_EVP_PKEY, text, answer, &prompt)
    guard status == 1, let bytes else {
      if prompt.isShown { throw passphrase == nil ? .encrypted : .undecryptable }
      throw ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE ? .noPEM : .malformed
    }
    defer { bearerd_OPENSSL_free(bytes) }
    var start = UnsafePointer<UInt8>?(bytes)
    if let envelope = d2i_X509_SIG(nil, &start, count) {
      defer { X509_SIG_free(envelope) }
      return try key(in: envelope, passphrase)
    }
    start = UnsafePointer(bytes)
    guard let key = d2i_AutoPrivateKey(nil, &start, count) else {
      throw prompt.isShown ? .undecryptable : .malformed
    }
    return key
  }

  /// Returns the key in an X509_SIG (EncryptedPrivateKeyInfo, RFC 5208 section 6).
  private static func key(
    in envelope: OpaquePointer, _ passphrase: UnsafeRawBufferPointer?
  ) throws(Problem) -> OpaquePointer {
    guard let passphrase else { throw .encrypted }
    var algorithm: UnsafePointer<X509_ALGOR>?
    X509_SIG_get0(envelope, &algorithm, nil)
    guard let cost = algorithm?.pointee.derivationCost else { throw .undecryptable }
    guard cost <= maximumCost else { throw .tooCostly }
    let text = passphrase.baseAddress?.assumingMemoryBound(to: CChar.self)
    guard let info = PKCS8_decrypt(envelope, text, Int32(clamping: passphrase.count)) else { throw .undecryptable }
    defer { PKCS8_PRIV_KEY_INFO_free(info) }
    guard let key = EVP_PKCS82PKEY(info) else { throw .malformed }
    return key
  }

  /// Maximum `derivationCost`, which takes about a quarter of a second, perhaps on an event loop.
  private static let maximumCost: Int64 = 1_000_000
}

/// The passphrase of a PEM block with the header `Proc-Type: 4,ENCRYPTED` (RFC 1421 section 4.6.1.1).
private struct Prompt {
  let passphrase: UnsafeRawBufferPointer?
  /// `true` if the block is encrypted.
  var isShown = false
}

/// Copies the passphrase for OpenSSL, which otherwise would ask on the terminal (pem_password_cb).
private func answer(
  _ buffer: UnsafeMutablePointer<CChar>?, _ size: Int32, _: Int32, _ context: UnsafeMutableRawPointer?
) -> Int32 {
  guard let prompt = context?.assumingMemoryBound(to: Prompt.self) else { return -1 }
  prompt.pointee.isShown = true
  guard let passphrase = prompt.pointee.passphrase, passphrase.count <= size else { return -1 }
  UnsafeMutableRawBufferPointer(start: buffer, count: Int(size)).copyMemory(from: passphrase)
  return Int32(passphrase.count)
}

extension X509_ALGOR {
  /// The number of iterations that derive the key from the passphrase (RFC 8018, RFC 7292 appendix B, RFC 7914). `nil`
  /// if the parameters are malformed.
  fileprivate var derivationCost: Int64? {
    guard OBJ_obj2nid(algorithm) == NID_pbes2 else {
      return parameters(PBEPARAM_it(), PBEPARAM.self) { Self.product($0.iter) }
    }
    return parameters(PBE2PARAM_it(), PBE2PARAM.self) { $0.keyfunc?.pointee.functionCost }
  }

  private var functionCost: Int64? {
    switch OBJ_obj2nid(algorithm) {
    case NID_id_pbkdf2: parameters(PBKDF2PARAM_it(), PBKDF2PARAM.self) { Self.product($0.iter) }
    case NID_id_scrypt:
      parameters(SCRYPT_PARAMS_it(), SCRYPT_PARAMS.self) {
        Self.product($0.costParameter, $0.blockSize, $0.parallelizationParameter)
      }
    default: nil
    }
  }

  private func parameters<Parameters>(
    _ item: OpaquePointer?, _ type: Parameters.Type, _ body: (Parameters) -> Int64?
  ) -> Int64? {
    guard let parameters = ASN1_TYPE_unpack_sequence(item, parameter) else { return nil }
    defer { ASN1_item_free(OpaquePointer(parameters), item) }
    return body(parameters.load(as: type))
  }

  private static func product(_ numbers: UnsafePointer<ASN1_INTEGER>?...) -> Int64 {
    numbers.reduce(1) { product, number in
      var value: Int64 = 0
      guard ASN1_INTEGER_get_int64(&value, number) == 1, value >= 0 else { return .max }
      let (result, overflows) = product.multipliedReportingOverflow(by: value)
      return overflows ? .max : result
    }
  }
}

extension PrivateKey.Problem {
  fileprivate static var noPEM: Self {
    Self(words: "has no private key in PEM: expected a line like \"-----BEGIN PRIVATE KEY-----\"")
  }
  fileprivate static var malformed: Self { Self(words: "is damaged, or is a private key of an unknown type") }
  fileprivate static var encrypted: Self { Self(words: "is encrypted: add passphrase: { file: NAME }") }
  fileprivate static var undecryptable: Self {
    Self(words: "cannot be decrypted: the passphrase is wrong, or OpenSSL does not support the cipher")
  }
  fileprivate static var tooCostly: Self {
    Self(
      words: "needs too many iterations to decrypt: \"openssl pkey -in FILE -aes256 -out NEW\" encrypts the key again")
  }
}
