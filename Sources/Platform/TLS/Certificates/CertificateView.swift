internal import COpenSSL
internal import Crypto
internal import Policy

/// A borrowed X509 certificate, valid as long as the SSL or the store that owns it.
struct CertificateView {
  let pointer: OpaquePointer  // X509

  static func all(in stack: OpaquePointer?) -> [CertificateView] {  // STACK_OF(X509)
    (0..<max(0, bearerd_sk_X509_num(stack))).compactMap { bearerd_sk_X509_value(stack, $0).map(CertificateView.init) }
  }

  /// SHA-256 of the certificate's public key, for pins (RFC 7469 section 2.4). Empty if it cannot be encoded.
  var keyDigest: [UInt8] {
    digest { i2d_X509_PUBKEY(X509_get_X509_PUBKEY(pointer), $0) }
  }

  /// SHA-256 of the whole certificate.
  var fingerprint: [UInt8] { digest { i2d_X509(pointer, $0) } }

  func isSame(as other: CertificateView) -> Bool { X509_cmp(pointer, other.pointer) == 0 }

  /// Seconds since 1970; `Int64.max` if the time cannot be read.
  var notBefore: Int64 { seconds(X509_get0_notBefore(pointer)) ?? .max }
  var notAfter: Int64 { seconds(X509_get0_notAfter(pointer)) ?? 0 }

  var validity: Validity { Validity(begins: notBefore, ends: notAfter) }

  func isValid(at now: Int64) -> Bool { validity.contains(now) }

  /// Whether one of the certificate's alternative names is the host (RFC 9525).
  func isFor(_ host: HostName) -> Bool {
    switch host {
    case .name(let name):
      // With an explicit length, a NUL does not end the name.
      return name.utf8.count > 0 && X509_check_host(pointer, name, name.utf8.count, hostFlags, nil) == 1
    case .address(let address):
      return X509_check_ip(pointer, address.bytes, address.bytes.count, 0) == 1
    }
  }

  var subject: String { text(of: X509_get_subject_name(pointer)) }
  var issuer: String { text(of: X509_get_issuer_name(pointer)) }

  /// The entries of subjectAltName, for example `DNS:a.example, DNS:b.example`.
  var alternativeNames: String {
    let index = X509_get_ext_by_NID(pointer, NID_subject_alt_name, -1)
    guard index >= 0, let field = X509_get_ext(pointer, index) else { return "" }
    return printed { X509V3_EXT_print($0, field, 0, 0) }
  }

  /// The algorithm of the issuer's signature, such as `sha256WithRSAEncryption`.
  var signatureName: String {
    OBJ_nid2ln(X509_get_signature_nid(pointer)).map { String(cString: $0) } ?? "unknown"
  }

  var isCA: Bool { X509_check_ca(pointer) > 0 }
  var isSelfSigned: Bool { X509_self_signed(pointer, 0) == 1 }

  /// The key's type, and its size or curve: `RSA 2048`, `EC prime256v1`, `ED25519`.
  var keyName: String {
    X509_get0_pubkey(pointer).map(TLS.keyName) ?? "unknown"
  }
}

/// Returns the type of an EVP_PKEY, and its size or curve.
func keyName(_ key: OpaquePointer) -> String {
  guard let name = EVP_PKEY_get0_type_name(key) else { return "unknown" }
  let type = String(cString: name)
  if type == "RSA" { return "RSA \(EVP_PKEY_get_bits(key))" }
  let group = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
    var length = 0
    guard EVP_PKEY_get_group_name(key, buffer.baseAddress, buffer.count, &length) == 1 else { return "" }
    return String(decoding: UnsafeRawBufferPointer(buffer).prefix(length), as: UTF8.self)
  }
  return group.isEmpty ? type : "\(type) \(group)"
}

/// OpenSSL's rules for host names: ignore the common name, and accept no wildcard such as `w*.example.com`.
let hostFlags = UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS) | UInt32(X509_CHECK_FLAG_NEVER_CHECK_SUBJECT)

/// Returns a time in seconds since 1970, or `nil` if it is missing or cannot be read.
func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
  var parts = tm()
  guard let time, ASN1_TIME_to_tm(time, &parts) == 1 else { return nil }
  return Int64(timegm(&parts))
}

/// Returns the SHA-256 of the DER that `encode` creates. Empty if it fails.
func digest(_ encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>) -> Int32) -> [UInt8] {
  var der: UnsafeMutablePointer<UInt8>?
  let length = encode(&der)
  defer { bearerd_OPENSSL_free(der) }
  guard length > 0, let der else { return [] }
  return sha256(UnsafeRawBufferPointer(start: der, count: Int(length)))
}

func sha256(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
  [UInt8](unsafeUninitializedCapacity: 32) { digest, count in
    let status = EVP_Digest(bytes.baseAddress, bytes.count, digest.baseAddress, nil, OpenSSLLibrary.sha256, nil)
    count = status == 1 ? 32 : 0
  }
}

/// Returns an X509_NAME as printable ASCII.
func text(of name: OpaquePointer?) -> String {  // X509_NAME
  printed { X509_NAME_print_ex($0, name, 0, bearerd_XN_FLAG_RFC2253()) }
}

/// Returns the output of `print` as printable ASCII, cut after 300 characters (T48).
private func printed(_ print: (OpaquePointer) -> Int32) -> String {
  guard let bio = BIO_new(BIO_s_mem()) else { return "" }
  defer { BIO_free(bio) }
  var data: UnsafeMutablePointer<CChar>?
  guard print(bio) >= 0, case let length = bearerd_BIO_get_mem_data(bio, &data), let data, length > 0 else { return "" }
  let bytes = UnsafeRawBufferPointer(start: data, count: length)
  let limit = 300
  let safe = bytes.prefix(limit).map { (0x20...0x7E).contains($0) ? $0 : UInt8(ascii: "?") }
  return String(decoding: safe, as: UTF8.self) + (length > limit ? "..." : "")
}
