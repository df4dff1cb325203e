internal import COpenSSL
internal import Crypto

// `@unchecked`: the OpenSSL pointers never change after `init`, and OpenSSL counts references atomically.
package final class Certificate: @unchecked Sendable {
  package enum Key: Sendable {
    case ec256, ec384, ec521
    case rsa2048
    case ed25519
    /// Too weak for OpenSSL's security level 2.
    case rsa1024
  }

  package struct Options: Sendable {
    package var commonName = "demo"
    package var dnsNames: [String] = []
    package var ipAddresses: [String] = []
    package var isCA = false
    /// Start of the validity, in seconds relative to the current time.
    package var notBefore = -3600
    /// End of the validity, in seconds relative to the current time.
    package var notAfter = 86_400
    package var key = Key.ec256
    /// Whether the issuer signs with SHA-1, which is too weak for OpenSSL's security level 2.
    package var hasWeakSignature = false
    /// Whether the certificate is for a server, otherwise for a client.
    package var serverAuth = true
    /// Name constraints in the syntax of x509v3_config(5), such as `permitted;DNS:example.com`.
    package var nameConstraints: String?
    /// Whether the certificate may sign OCSP responses for its issuer.
    package var ocspSigning = false
    /// Whether the certificate requires a stapled OCSP response (RFC 7633).
    package var mustStaple = false
    package init() {}

    package static var localhost: Options {
      var options = Options()
      options.commonName = "localhost"
      options.dnsNames = ["localhost"]
      options.ipAddresses = ["127.0.0.1", "::1"]
      return options
    }
  }

  let certificate: OpaquePointer  // X509
  let key: OpaquePointer  // EVP_PKEY

  /// - Parameters:
  ///   - issuer: The certificate of the authority that signs; `nil` for a self-signed certificate.
  ///   - reusingKeyOf: A certificate whose key is used again, as in a renewal; `nil` for a new key.
  package init(_ options: Options, issuer: Certificate? = nil, reusingKeyOf: Certificate? = nil) throws {
    OpenSSLLibrary.start()
    if let old = reusingKeyOf {
      EVP_PKEY_up_ref(old.key)
      key = old.key
    } else {
      key = try generateKey(options.key)
    }
    do {
      certificate = try makeCertificate(options, key: key, issuer: issuer)
    } catch {
      EVP_PKEY_free(key)
      throw error
    }
  }

  package static func authority(_ name: String) throws -> Certificate {
    var options = Options()
    options.commonName = name
    options.isCA = true
    return try Certificate(options)
  }

  deinit {
    X509_free(certificate)
    EVP_PKEY_free(key)
  }

  package var pem: String {
    text { PEM_write_bio_X509($0, certificate) }
  }

  package var keyPEM: String {
    text { PEM_write_bio_PrivateKey($0, key, nil, nil, 0, nil, nil) }
  }

  /// The key as encrypted PKCS #8.
  package func keyPEM(passphrase: String) -> String {
    text {
      PEM_write_bio_PKCS8PrivateKey($0, key, EVP_aes_256_cbc(), passphrase, Int32(passphrase.utf8.count), nil, nil)
    }
  }

  package var pin: String { hash(encoded { i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), $0) }) }

  /// `sha256/` and the base64 of the hash of the whole certificate, which users sometimes mistake for a pin.
  package var fingerprint: String { hash(encoded { i2d_X509(certificate, $0) }) }

  func text(_ write: (OpaquePointer) -> Int32) -> String {
    guard let bio = BIO_new(BIO_s_mem()) else { return "" }
    defer { BIO_free(bio) }
    var data: UnsafeMutablePointer<CChar>?
    guard write(bio) == 1, case let length = bearerd_BIO_get_mem_data(bio, &data), let data else { return "" }
    return String(decoding: UnsafeRawBufferPointer(start: data, count: length), as: UTF8.self)
  }
}

func commonName(of certificate: OpaquePointer) -> String? {  // X509
  var text = [CChar](repeating: 0, count: 128)
  let length = X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, &text, Int32(text.count))
  return length < 0 ? nil : String(decoding: text.prefix(Int(length)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

private func hash(_ bytes: [UInt8]) -> String {
  var digest = [UInt8](repeating: 0, count: 32)
  var text = [UInt8](repeating: 0, count: 45)
  EVP_Digest(bytes, bytes.count, &digest, nil, EVP_sha256(), nil)
  let length = EVP_EncodeBlock(&text, digest, 32)
  return "sha256/" + String(decoding: text.prefix(Int(length)), as: UTF8.self)
}

func encoded(_ encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>) -> Int32) -> [UInt8] {
  var der: UnsafeMutablePointer<UInt8>?
  let length = encode(&der)
  defer { bearerd_OPENSSL_free(der) }
  return Array(UnsafeBufferPointer(start: der, count: Int(max(length, 0))))
}
