internal import COpenSSL
internal import Crypto
package import Policy

/// A public key and its pin.
package struct PublicKeyDescription: Sendable, Equatable {
  package let pin: Pin
  /// The key's type, and its size or curve: `RSA 2048`, `EC prime256v1`, `ED25519`.
  package let key: String

  /// - Parameter key: An X509_PUBKEY, borrowed. The result is `nil` if it is not a key that TLS can use.
  fileprivate init?(_ key: OpaquePointer?) {
    guard let decoded = X509_PUBKEY_get0(key), let pin = Pin(digest: digest({ i2d_X509_PUBKEY(key, $0) })) else {
      return nil
    }
    self.pin = pin
    self.key = keyName(decoded)
  }
}

/// The content of a file with public keys, for `bearerctl pin`.
package enum PinnableFile: Sendable, Equatable {
  /// In the order of the file.
  case certificates([CertificateDescription])
  /// A SubjectPublicKeyInfo (RFC 5280 section 4.1.2.7).
  case publicKey(PublicKeyDescription)
  /// A certificate request (PKCS #10, RFC 2986), which is signed with its own key.
  case request(subject: String, PublicKeyDescription)
  /// The file has a private key, which was not read.
  case privateKey

  /// Reads PEM or DER. Throws for other files, and for a file with several blocks that are not all certificates.
  /// - Parameter name: The name of the file, for messages.
  package init(_ bytes: [UInt8], name: String) throws(TLSError) {
    OpenSSLLibrary.start()
    ERR_clear_error()
    defer { ERR_clear_error() }
    // A short SEQUENCE could also be text that begins with "0".
    let isLong = bytes.count > 1 && bytes[0] == 0x30 && bytes[1] >= 0x80
    let labels = isLong ? [] : pemLabels(bytes)
    do throws(Problem) {
      if !labels.isEmpty {
        self = try Self.pem(bytes, labels, name)
      } else if bytes.first == 0x30 {
        self = try Self.der(bytes, name)
      } else {
        throw Problem("there is no certificate, public key or certificate request (CSR) in it")
      }
    } catch {
      throw error.certificate ?? TLSError(kind: .certificateInvalid, detail: "\(name): \(error.text)")
    }
  }

  private static func pem(_ bytes: [UInt8], _ labels: [String], _ name: String) throws(Problem) -> Self {
    // OpenSSL does not get the bytes of a private key.
    if labels.contains(where: { $0.hasSuffix("PRIVATE KEY") }) { return .privateKey }
    if labels.allSatisfy({ $0 == "CERTIFICATE" || $0 == "X509 CERTIFICATE" }) { return try certificates(bytes, name) }
    guard labels.count == 1, let label = labels.first else {
      throw Problem(
        "there are \(labels.count) blocks in it: expected one public key, one certificate request (CSR), or only certificates"
      )
    }
    switch label {
    case "PUBLIC KEY": return .publicKey(try publicKey(try content(bytes)))
    case "CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST": return try request(try content(bytes))
    case "RSA PUBLIC KEY":
      throw Problem("this is an RSA key in PKCS #1. Convert it: openssl rsa -RSAPublicKey_in -in FILE -pubout -out NEW")
    default:
      throw Problem("there is a \(label) in it: expected a certificate, a public key or a certificate request (CSR)")
    }
  }

  private static func der(_ bytes: [UInt8], _ name: String) throws(Problem) -> Self {
    if isPrivateKey(bytes) { return .privateKey }
    if case .some(let key) = try? publicKey(bytes) { return .publicKey(key) }
    if let request = try requestIfReadable(bytes) { return request }
    if isEncryptedKey(bytes) { return .privateKey }
    guard bytes.count > 1, bytes[1] >= 0x80 else {
      throw Problem("it is not a public key in DER, or the key is damaged or of a type that TLS does not use")
    }
    return try certificates(bytes, name)
  }

  private static func certificates(_ bytes: [UInt8], _ name: String) throws(Problem) -> Self {
    do throws(TLSError) {
      let file = try CertificateFile(bytes, name: name)
      return .certificates(file.views.compactMap { CertificateDescription($0) })
    } catch { throw Problem(error) }
  }

  private static func publicKey(_ der: [UInt8]) throws(Problem) -> PublicKeyDescription {
    let key = der.withUnsafeBufferPointer { der -> PublicKeyDescription? in
      var position = der.baseAddress
      // Created for the library that will decode the key; `d2i_X509_PUBKEY` frees it on failure.
      var created = X509_PUBKEY_new_ex(LeanLibrary.context, nil)
      guard created != nil, let key = d2i_X509_PUBKEY(&created, &position, der.count) else { return nil }
      defer { X509_PUBKEY_free(key) }
      guard position == der.baseAddress.map({ $0 + der.count }) else { return nil }
      return PublicKeyDescription(key)
    }
    guard let key else { throw Problem("the public key is damaged, or of a type that TLS does not use") }
    return key
  }

  private static func request(_ der: [UInt8]) throws(Problem) -> Self {
    guard let request = try requestIfReadable(der) else { throw Problem("the certificate request cannot be read") }
    return request
  }

  /// `nil` if the bytes are not a certificate request.
  private static func requestIfReadable(_ der: [UInt8]) throws(Problem) -> Self? {
    try der.span.withUnsafeBufferPointer { (der) throws(Problem) -> Self? in
      var position = der.baseAddress
      var created = X509_REQ_new_ex(LeanLibrary.context, nil)
      guard created != nil, let request = d2i_X509_REQ(&created, &position, der.count) else { return nil }
      defer { X509_REQ_free(request) }
      guard position == der.baseAddress.map({ $0 + der.count }) else {
        throw Problem("the certificate request has bytes after its end")
      }
      guard let key = PublicKeyDescription(X509_REQ_get_X509_PUBKEY(request)) else {
        throw Problem("the key of the certificate request is damaged, or of a type that TLS does not use")
      }
      guard X509_REQ_verify_ex(request, X509_REQ_get0_pubkey(request), LeanLibrary.context, nil) == 1 else {
        throw Problem("the signature of the certificate request is not valid, so the file is damaged. Create it again")
      }
      return .request(subject: text(of: X509_REQ_get_subject_name(request)), key)
    }
  }
}

/// Why a file cannot be used.
private struct Problem: Error {
  let text: String
  /// The complete error of a file with certificates; otherwise `nil`.
  let certificate: TLSError?

  init(_ text: String) { (self.text, certificate) = (text, nil) }
  init(_ error: TLSError) { (text, certificate) = ("", error) }
}

/// Returns the labels of all PEM blocks (RFC 7468 section 2), as printable ASCII.
private func pemLabels(_ bytes: [UInt8]) -> [String] {
  let mark = Array("-----BEGIN ".utf8)
  return bytes.split(separator: 0x0A).filter { $0.starts(with: mark) }.map { line in
    let label = line.dropFirst(mark.count).prefix { $0 != UInt8(ascii: "-") }.prefix(40)
    return String(decoding: label.filter { (0x20...0x7E).contains($0) }, as: UTF8.self)
  }
}

/// Returns the decoded content of the only PEM block.
private func content(_ bytes: [UInt8]) throws(Problem) -> [UInt8] {
  try bytes.span.withUnsafeBytes { (bytes) throws(Problem) in
    var content: [UInt8] = []
    do throws(TLSError) {
      var reader = try PEMReader(bytes)
      _ = reader.next { content = Array($1) }
    } catch { throw Problem(error) }
    guard !content.isEmpty else { throw Problem("the PEM block cannot be read") }
    return content
  }
}

/// Whether the DER begins like a private key in PKCS #8 (RFC 5958), PKCS #1 or SEC 1 (RFC 5915): with a version.
private func isPrivateKey(_ der: [UInt8]) -> Bool {
  guard der.count > 1 else { return false }
  let length = der[1] < 0x80 ? 0 : Int(der[1] & 0x7F)
  let content = der.dropFirst(2 + length).prefix(3)
  return content.elementsEqual([0x02, 0x01, 0x00]) || content.elementsEqual([0x02, 0x01, 0x01])
}

/// Whether the DER is an EncryptedPrivateKeyInfo (RFC 5958 section 3).
private func isEncryptedKey(_ der: [UInt8]) -> Bool {
  der.withUnsafeBufferPointer { der in
    var position = der.baseAddress
    guard let envelope = d2i_X509_SIG(nil, &position, der.count) else { return false }
    X509_SIG_free(envelope)
    return true
  }
}
