internal import COpenSSL
internal import Crypto

/// A client certificate with its key, for an upstream that requests one (RFC 8446 section 4.4.2).
package final class ClientCertificate: @unchecked Sendable {
  // `@unchecked` is safe here, because the pointers do not change after `init`, and OpenSSL counts references
  // atomically. The key stays in OpenSSL's memory, which `deinit` wipes.

  /// Why the certificate or its key cannot be used. Contains no byte of the key.
  package struct Problem: Error, Sendable, Equatable {
    package enum Part: Sendable {
      case certificate, key
      /// The key cannot be read at present.
      case unread
    }
    package let part: Part
    package let sentence: String

    package init(_ part: Part, _ sentence: String) {
      self.part = part
      self.sentence = sentence
    }
  }

  private let certificates: CertificateFile
  private let key: OpaquePointer  // EVP_PKEY
  /// SHA-256 of the certificate.
  package let fingerprint: [UInt8]
  package let subject: String
  /// The validity of this certificate, without its issuers.
  package let validity: Validity
  /// Whether the certificate's purpose includes TLS clients (RFC 5280 section 4.2.1.12).
  package let isForClients: Bool

  /// - Parameters:
  ///   - pem: The certificate, then the certificates that lead from it to an authority.
  ///   - key: RSA, or EC on P-256 or P-384; PKCS #8, PKCS #1 or SEC 1, not encrypted.
  package init(
    pem: [UInt8], name: String, key pemOfKey: UnsafeRawBufferPointer, keyName: String
  ) throws(Problem) {
    OpenSSLLibrary.start()
    defer { ERR_clear_error() }
    do throws(TLSError) { certificates = try CertificateFile(pem, name: name) } catch {
      throw Problem(.certificate, error.detail)
    }
    let views = certificates.views
    guard let leaf = views.first else { throw Problem(.certificate, "\(name): there is no certificate in it") }
    for (index, pair) in zip(views.dropFirst(), views).enumerated()
    where X509_check_issued(pair.0.pointer, pair.1.pointer) != X509_V_OK {
      throw Problem(
        .certificate,
        "\(name): certificate \(index + 2) did not issue the certificate before it: your own certificate must be first")
    }
    (fingerprint, subject) = (leaf.fingerprint, leaf.subject)
    validity = Validity(begins: leaf.notBefore, ends: leaf.notAfter)
    isForClients = X509_check_purpose(leaf.pointer, X509_PURPOSE_SSL_CLIENT, 0) == 1
    key = try Self.key(pemOfKey, name: keyName, of: leaf, in: name)
    guard isAccepted else {
      throw Problem(.certificate, "\(name): TLS does not accept it: its key or its signature is too weak")
    }
  }

  deinit { EVP_PKEY_free(key) }

  /// Sets this certificate for one connection. Returns `false` if OpenSSL rejects it.
  func install(in ssl: OpaquePointer) -> Bool {
    let views = certificates.views
    guard let leaf = views.first, SSL_use_certificate(ssl, leaf.pointer) == 1, SSL_use_PrivateKey(ssl, key) == 1 else {
      return false
    }
    return views.dropFirst().allSatisfy { bearerd_SSL_add1_chain_cert(ssl, $0.pointer) == 1 }
  }

  /// Whether OpenSSL accepts the certificate for upstream connections.
  private var isAccepted: Bool {
    guard let context = SSL_CTX_new_ex(LeanLibrary.context, nil, TLS_client_method()) else { return false }
    defer { SSL_CTX_free(context) }
    SSL_CTX_set_security_level(context, 2)
    guard let ssl = SSL_new(context) else { return false }
    defer { SSL_free(ssl) }
    return install(in: ssl)
  }

  private static func key(
    _ pem: UnsafeRawBufferPointer, name: String, of leaf: CertificateView, in certificate: String
  ) throws(Problem) -> OpaquePointer {
    let numbers: PrivateKeyNumbers
    do throws(SigningKey.Problem) { numbers = try PrivateKeyNumbers(pem: pem) } catch {
      let words = error == .unsupportedType ? "is neither an RSA key nor an EC key on P-256 or P-384" : error.words
      throw Problem(.key, "\(name) \(words)")
    }
    // If the certificate is the right one, it has the key's public half.
    let point = leaf.point
    guard let key = numbers.makeKey(in: LeanLibrary.context, point: point) else {
      throw Problem(.key, "\(name) is not the key of the certificate in \(certificate)")
    }
    guard leaf.verifies(key) else {
      EVP_PKEY_free(key)
      throw Problem(.key, "\(name) is not the key of the certificate in \(certificate)")
    }
    return key
  }
}

extension CertificateView {
  /// The public point of an EC key, uncompressed; empty for other keys.
  fileprivate var point: [UInt8] {
    guard let key = X509_get0_pubkey(pointer), EVP_PKEY_get_base_id(key) == EVP_PKEY_EC else { return [] }
    return [UInt8](unsafeUninitializedCapacity: 133) { bytes, count in
      let status = EVP_PKEY_get_octet_string_param(key, "pub", bytes.baseAddress, bytes.count, &count)
      if status != 1 { count = 0 }
    }
  }

  /// Whether `key` is this certificate's private key.
  fileprivate func verifies(_ key: OpaquePointer) -> Bool {  // EVP_PKEY
    // Signs a test text, and verifies the signature with the certificate.
    let text = Array("bearerd".utf8)
    var signature = [UInt8](repeating: 0, count: max(64, Int(EVP_PKEY_get_size(key))))
    guard let own = X509_get0_pubkey(pointer), let signing = EVP_MD_CTX_new() else { return false }
    defer { EVP_MD_CTX_free(signing) }
    guard let verifying = EVP_MD_CTX_new() else { return false }
    defer { EVP_MD_CTX_free(verifying) }
    var count = signature.count
    return EVP_PKEY_get_base_id(own) == EVP_PKEY_get_base_id(key)
      && EVP_DigestSignInit_ex(signing, nil, "SHA256", LeanLibrary.context, nil, key, nil) == 1
      && EVP_DigestSign(signing, &signature, &count, text, text.count) == 1
      && EVP_DigestVerifyInit_ex(verifying, nil, "SHA256", LeanLibrary.context, nil, own, nil) == 1
      && EVP_DigestVerify(verifying, signature, count, text, text.count) == 1
  }
}
