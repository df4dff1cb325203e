internal import COpenSSL
internal import Policy

/// Bounds of the verification that an upstream can cause (T60). OpenSSL takes a hundred kilobytes of certificates, RSA keys of 16,384 bits and a
/// million comparisons of names, all of it on the loop that serves everybody.
enum ChainLimits {
  /// Bytes of all certificates that come.
  static let bytes = 65_536
  static let certificates = 16
  static let keyBits: Int32 = 8_192
  static let names = 2_048
  /// Names times subtrees of constraints: each is compared with each.
  static let comparisons = 65_536

  /// Key exchanges without finite fields, whose largest take ten times as long as all the rest of a handshake. The hybrid comes
  /// first where this OpenSSL has it (3.5).
  private static let groups = "X25519:P-256:X448:P-384:P-521"

  static func install(in context: OpaquePointer) throws(TLSError) {
    SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_CERT_LIST, bytes, nil)
    guard setGroups("X25519MLKEM768:" + groups, in: context) || setGroups(groups, in: context) else {
      throw .internalError("configuring key exchange")
    }
    ERR_clear_error()
    SSL_CTX_set_cert_verify_callback(
      context,
      { storeContext, _ in
        guard let storeContext else { return 0 }
        let sent = X509_STORE_CTX_get0_untrusted(storeContext)
        let certificates = (0..<max(0, bearerd_sk_X509_num(sent))).compactMap { bearerd_sk_X509_value(sent, $0) }
        guard let complaint = ChainLimits.complaint(about: certificates.map { CertificateView(pointer: $0) }) else {
          return X509_verify_cert(storeContext)
        }
        X509_STORE_CTX_set_error(storeContext, X509_V_ERR_CERT_REJECTED)
        if let ssl = X509_STORE_CTX_get_ex_data(storeContext, SSL_get_ex_data_X509_STORE_CTX_idx()),
          let state = TLSConnection.state(of: OpaquePointer(ssl))
        {
          state.refused = TLSError(kind: .certificateInvalid, detail: "\(state.origin.host) sent \(complaint)")
        }
        return 0
      }, nil)
  }

  private static func setGroups(_ list: String, in context: OpaquePointer) -> Bool {
    list.withCString { SSL_CTX_ctrl(context, SSL_CTRL_SET_GROUPS_LIST, 0, UnsafeMutableRawPointer(mutating: $0)) == 1 }
  }

  /// The bound that a chain exceeds, in words; nil: none. Takes a constant time per byte.
  static func complaint(about sent: [CertificateView]) -> String? {
    guard sent.count <= certificates else {
      return "\(sent.count) certificates: bearerd verifies at most \(certificates)"
    }
    var allNames = 0
    var allSubtrees = 0
    for certificate in sent {
      if let bits = certificate.keyBits, bits > keyBits {
        return "a key of \(bits) bits: bearerd verifies at most \(keyBits)"
      }
      guard let names = certificate.elements(ofExtension: NID_subject_alt_name, depth: 1),
        let subtrees = certificate.elements(ofExtension: NID_name_constraints, depth: 2)
      else { return "a certificate whose names are not written in DER" }
      allNames += names
      allSubtrees += subtrees
    }
    guard allNames <= names else { return "\(allNames) names: bearerd compares at most \(names)" }
    guard allNames * allSubtrees <= comparisons else {
      return "\(allNames) names and \(allSubtrees) constraints: bearerd makes at most \(comparisons) comparisons"
    }
    return nil
  }
}

extension CertificateView {
  fileprivate var keyBits: Int32? { X509_get0_pubkey(pointer).map { EVP_PKEY_get_bits($0) } }

  /// How many elements an extension has, `depth` levels below the whole; 0 without the extension, nil: that cannot be counted.
  fileprivate func elements(ofExtension identifier: Int32, depth: Int) -> Int? {
    let index = X509_get_ext_by_NID(pointer, identifier, -1)
    guard index >= 0, let value = X509_EXTENSION_get_data(X509_get_ext(pointer, index)) else { return 0 }
    let text = UnsafePointer<ASN1_STRING>(value)
    guard let start = ASN1_STRING_get0_data(text) else { return 0 }
    let bytes = UnsafeRawBufferPointer(start: start, count: max(0, Int(ASN1_STRING_length(text))))
    return DERElements.count(in: bytes, 0..<bytes.count, depth: depth)
  }
}

/// Counts the elements of DER (X.690) without decoding them.
enum DERElements {
  /// How many elements stand `depth` levels below those of `range`; nil: something there is not DER, as a length that is not
  /// known ahead, which OpenSSL would read all the same.
  static func count(in bytes: UnsafeRawBufferPointer, _ range: Range<Int>, depth: Int) -> Int? {
    var total = 0
    var rest = range
    while !rest.isEmpty {
      guard rest.count >= 2, bytes[rest.lowerBound] & 0x1F != 0x1F else { return nil }
      var start = rest.lowerBound + 2
      var count = Int(bytes[rest.lowerBound + 1])
      if count >= 0x80 {
        let digits = count - 0x80
        guard (1...3).contains(digits), rest.upperBound - start >= digits else { return nil }
        count = bytes[start..<(start + digits)].reduce(0) { $0 << 8 | Int($1) }
        start += digits
      }
      guard rest.upperBound - start >= count else { return nil }
      if depth == 0 {
        total += 1
      } else {
        guard let inner = Self.count(in: bytes, start..<(start + count), depth: depth - 1) else { return nil }
        total += inner
      }
      rest = (start + count)..<rest.upperBound
    }
    return total
  }
}
