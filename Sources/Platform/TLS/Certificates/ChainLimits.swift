internal import COpenSSL
internal import Policy

/// Limits of the work that an upstream can cause when its certificates are verified (T60).
enum ChainLimits {
  // Verification blocks the event loop. Without these limits, OpenSSL accepts 100 kB of certificates, RSA keys of
  // 16,384 bits and a million comparisons of names.

  /// Maximum size in bytes of all certificates that an upstream sends.
  static let bytes = 65_536
  static let certificates = 16
  static let keyBits: Int32 = 8_192
  static let names = 2_048
  /// Maximum number of comparisons of names with name constraints.
  static let comparisons = 65_536

  // Without the finite-field groups: the largest of them take ten times as long as the rest of a handshake.
  /// Groups for key exchange, in the format of OpenSSL.
  private static let groups = "X25519:P-256:X448:P-384:P-521"

  static func install(in context: OpaquePointer) throws(TLSError) {
    SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_CERT_LIST, bytes, nil)
    // The hybrid group needs OpenSSL 3.5.
    guard setGroups("X25519MLKEM768:" + groups, in: context) || setGroups(groups, in: context) else {
      throw .internalError("configuring key exchange")
    }
    ERR_clear_error()
    SSL_CTX_set_cert_verify_callback(
      context,
      { storeContext, _ in
        guard let storeContext else { return 0 }
        let sent = CertificateView.all(in: X509_STORE_CTX_get0_untrusted(storeContext))
        guard let complaint = ChainLimits.complaint(about: sent) else {
          let status = X509_verify_cert(storeContext)
          guard status == 1 else { return status }
          // After the signatures of the chain, so that only a trusted upstream causes the work of checking lists.
          return RevocationListCheck.check(storeContext)
        }
        X509_STORE_CTX_set_error(storeContext, X509_V_ERR_CERT_REJECTED)
        if let ssl = X509_STORE_CTX_get_ex_data(storeContext, SSL_get_ex_data_X509_STORE_CTX_idx()),
          let state = TLSConnection.state(of: OpaquePointer(ssl))
        {
          state.callbackError = TLSError(kind: .certificateInvalid, detail: "\(state.origin.host) sent \(complaint)")
        }
        return 0
      }, nil)
  }

  private static func setGroups(_ list: String, in context: OpaquePointer) -> Bool {
    list.withCString { SSL_CTX_ctrl(context, SSL_CTRL_SET_GROUPS_LIST, 0, UnsafeMutableRawPointer(mutating: $0)) == 1 }
  }

  /// Describes the limit that a chain exceeds; `nil` if it exceeds none.
  static func complaint(about sent: [CertificateView]) -> String? {
    guard sent.count <= certificates else {
      return "\(sent.count) certificates: bearerd verifies at most \(certificates)"
    }
    var (allNames, allSubtrees) = (0, 0)
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

  /// Returns the number of DER elements `depth` levels below the extension's outermost element; `nil` if the value is
  /// not DER.
  fileprivate func elements(ofExtension identifier: Int32, depth: Int) -> Int? {
    let index = X509_get_ext_by_NID(pointer, identifier, -1)
    guard index >= 0, let value = X509_EXTENSION_get_data(X509_get_ext(pointer, index)) else { return 0 }
    guard let start = ASN1_STRING_get0_data(value) else { return 0 }
    let bytes = UnsafeRawBufferPointer(start: start, count: max(0, Int(ASN1_STRING_length(value))))
    return DERElements.count(in: bytes, 0..<bytes.count, depth: depth)
  }
}

enum DERElements {
  /// Returns the number of DER elements `depth` levels below the elements of `range`; `nil` if the bytes are not DER.
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
