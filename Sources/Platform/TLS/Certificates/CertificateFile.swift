internal import COpenSSL
internal import Crypto

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
    var reader = try PEMReader(bytes)
    while true {
      switch try reader.next({ (label, content) throws(TLSError) in try append(label, content) }) {
      case .block: continue
      case .unreadable: throw invalid("block \(certificates.count + 1) cannot be read")
      case .end: break
      }
      break
    }
    guard !certificates.isEmpty else { throw invalid("there is no certificate in it") }
    guard certificates.count == count(of: "-----BEGIN ", in: bytes) else {
      throw invalid("a block after certificate \(certificates.count) cannot be read")
    }
  }

  private mutating func append(_ label: String, _ content: UnsafeRawBufferPointer) throws(TLSError) {
    switch label {
    case "CERTIFICATE", "X509 CERTIFICATE": try append(der: content)
    case let label where label.hasSuffix("PRIVATE KEY"):
      throw invalid("there is a private key in it, but only certificates are allowed")
    default:
      let shown = label.utf8.prefix(40).filter { (0x20...0x7E).contains($0) }
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
