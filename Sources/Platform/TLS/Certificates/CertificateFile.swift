internal import COpenSSL
internal import Crypto

/// All certificates of a file.
struct CertificateFile: ~Copyable {
  private var certificates: [OpaquePointer] = []  // X509, owned
  private let name: String

  /// Reads PEM, or one certificate in DER, and throws if a PEM block is not a certificate.
  init(_ bytes: [UInt8], name: String) throws(TLSError) {
    self.name = name
    ERR_clear_error()
    let span = bytes.span
    try span.withUnsafeBytes { (bytes) throws(TLSError) in
      let isDER = bytes.count > 1 && bytes[0] == 0x30 && bytes[1] >= 0x80  // a long SEQUENCE
      try isDER ? append(der: bytes) : readPEM(bytes)
    }
  }

  deinit {
    for certificate in certificates { X509_free(certificate) }
  }

  var views: [CertificateView] { certificates.map { CertificateView(pointer: $0) } }

  private mutating func readPEM(_ bytes: UnsafeRawBufferPointer) throws(TLSError) {
    let empty: StaticString = ""
    let start = bytes.baseAddress ?? UnsafeRawPointer(empty.utf8Start)
    guard let bio = BIO_new_mem_buf(start, Int32(clamping: bytes.count)) else {
      throw .internalError("BIO_new_mem_buf")
    }
    defer { BIO_free(bio) }
    while try readBlock(bio) {}
    guard !certificates.isEmpty else { throw invalid("there is no certificate in it") }
    guard certificates.count == count(of: "-----BEGIN ", in: bytes) else {
      throw invalid("a block after certificate \(certificates.count) cannot be read")
    }
  }

  /// Reads one PEM block. Returns `false` at the end of the file.
  private mutating func readBlock(_ bio: OpaquePointer) throws(TLSError) -> Bool {
    var kind: UnsafeMutablePointer<CChar>?
    var header: UnsafeMutablePointer<CChar>?
    var data: UnsafeMutablePointer<UInt8>?
    var length = 0
    let status = PEM_read_bio(bio, &kind, &header, &data, &length)
    defer {
      bearerd_OPENSSL_free(kind)
      bearerd_OPENSSL_free(header)
      // Wiped, because it may be a private key.
      if let data { CRYPTO_clear_free(data, max(length, 0), #fileID, #line) }
    }
    guard status == 1, let kind else {
      let isEnd = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE
      guard isEnd else { throw invalid("block \(certificates.count + 1) cannot be read") }
      ERR_clear_error()
      return false
    }
    switch String(cString: kind) {
    case "CERTIFICATE", "X509 CERTIFICATE":
      try append(der: UnsafeRawBufferPointer(start: data, count: max(length, 0)))
      return true
    case let kind where kind.hasSuffix("PRIVATE KEY"):
      throw invalid("there is a private key in it, but only certificates are allowed")
    case let kind:
      let shown = kind.utf8.prefix(40).filter { (0x20...0x7E).contains($0) }
      throw invalid("there is a \(String(decoding: shown, as: UTF8.self)) in it, but only certificates are allowed")
    }
  }

  private mutating func append(der: UnsafeRawBufferPointer) throws(TLSError) {
    var position = der.bindMemory(to: UInt8.self).baseAddress
    // Created for the library that will parse it; `d2i_X509` frees it on failure.
    var created = X509_new_ex(LeanLibrary.context, nil)
    guard created != nil, let certificate = d2i_X509(&created, &position, der.count) else {
      throw invalid("certificate \(certificates.count + 1) cannot be read")
    }
    certificates.append(certificate)
    guard let position, UnsafeRawPointer(position) == der.baseAddress.map({ $0 + der.count }) else {
      throw invalid("certificate \(certificates.count) has bytes after its end")
    }
  }

  private func invalid(_ problem: String) -> TLSError {
    ERR_clear_error()
    return TLSError(kind: .certificateInvalid, detail: "\(name): \(problem)")
  }
}

/// Returns how often `text` occurs in `bytes`.
func count(of text: StaticString, in bytes: UnsafeRawBufferPointer) -> Int {
  text.withUTF8Buffer { text in
    var (count, index) = (0, 0)
    while index + text.count <= bytes.count {
      let isFound = bytes[index] == text[0] && bytes[index..<(index + text.count)].elementsEqual(text)
      count += isFound ? 1 : 0
      index += isFound ? text.count : 1
    }
    return count
  }
}
