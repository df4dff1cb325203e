internal import COpenSSL
internal import Crypto

/// A client certificate with its key, for an upstream that requests one (RFC 8446 section 4.4.2).
package final class ClientCertificate: @unchecked Sendable {
  // `@unchecked` is safe here, because the pointers do not change after `init`, and OpenSSL counts references
  // atomically.

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
  private let key: PrivateKey
  /// SHA-256 of the certificate.
  package let fingerprint: [UInt8]
  package let subject: String
  /// The validity of this certificate, without its issuers.
  package let validity: Validity
  /// Whether the certificate's purpose includes TLS clients (RFC 5280 section 4.2.1.12).
  package let isForClients: Bool

  /// - Parameters:
  ///   - pem: The certificate, then the certificates that lead from it to an authority.
  ///   - key: A key in a form that `PrivateKey` reads, with its passphrase if it is encrypted.
  package init(
    pem: [UInt8], name: String, key pemOfKey: UnsafeRawBufferPointer, keyName: String,
    passphrase: UnsafeRawBufferPointer? = nil
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
    validity = leaf.validity
    isForClients = X509_check_purpose(leaf.pointer, X509_PURPOSE_SSL_CLIENT, 0) == 1
    do throws(PrivateKey.Problem) { key = try PrivateKey(pem: pemOfKey, passphrase: passphrase) } catch {
      throw Problem(.key, "\(keyName) \(error.words)")
    }
    guard leaf.verifies(key.pointer) else {
      throw Problem(.key, "\(keyName) is not the key of the certificate in \(name)")
    }
    guard isAccepted else {
      throw Problem(.certificate, "\(name): TLS does not accept it: its key or its signature is too weak")
    }
  }

  /// Sets this certificate for one connection. Returns `false` if OpenSSL rejects it.
  func install(in ssl: OpaquePointer) -> Bool {
    let views = certificates.views
    guard let leaf = views.first, SSL_use_certificate(ssl, leaf.pointer) == 1, SSL_use_PrivateKey(ssl, key.pointer) == 1
    else { return false }
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
}

extension CertificateView {
  /// Whether `key` is this certificate's private key.
  fileprivate func verifies(_ key: OpaquePointer) -> Bool {  // EVP_PKEY
    // Signs a test text, and verifies the signature with the certificate. Without a digest's name, OpenSSL uses the
    // default digest of the key's type.
    let text = Array("bearerd".utf8)
    var signature = [UInt8](repeating: 0, count: max(64, Int(EVP_PKEY_get_size(key))))
    guard let own = X509_get0_pubkey(pointer), let signing = EVP_MD_CTX_new() else { return false }
    defer { EVP_MD_CTX_free(signing) }
    guard let verifying = EVP_MD_CTX_new() else { return false }
    defer { EVP_MD_CTX_free(verifying) }
    var count = signature.count
    return EVP_PKEY_get_base_id(own) == EVP_PKEY_get_base_id(key)
      && EVP_DigestSignInit_ex(signing, nil, nil, LeanLibrary.context, nil, key, nil) == 1
      && EVP_DigestSign(signing, &signature, &count, text, text.count) == 1
      && EVP_DigestVerifyInit_ex(verifying, nil, nil, LeanLibrary.context, nil, own, nil) == 1
      && EVP_DigestVerify(verifying, signature, count, text, text.count) == 1
  }
}
