internal import COpenSSL

/// A successful OCSP response (RFC 6960 section 4.2).
struct OCSPResponse: ~Copyable {
  /// The status of one certificate.
  struct Entry {
    /// V_OCSP_CERTSTATUS_…
    let status: Int32
    /// Seconds since 1970; `nil` if the time is missing or cannot be read.
    let thisUpdate: Int64?
    let nextUpdate: Int64?
    let hasNextUpdate: Bool
  }

  private let basic: OpaquePointer  // OCSP_BASICRESP, owned

  /// Maximum number of certificates in a response that may be its signer's.
  private static let maximumSigners: Int32 = 4

  /// `nil` if the bytes are not a successful response.
  init?(_ bytes: UnsafeRawBufferPointer) {
    var position = bytes.bindMemory(to: UInt8.self).baseAddress
    guard let response = d2i_OCSP_RESPONSE(nil, &position, bytes.count) else { return nil }
    defer { OCSP_RESPONSE_free(response) }
    guard let position, UnsafeRawPointer(position) == bytes.baseAddress.map({ $0 + bytes.count }),
      OCSP_response_status(response) == OCSP_RESPONSE_STATUS_SUCCESSFUL,
      let basic = OCSP_response_get1_basic(response)
    else { return nil }
    self.basic = basic
  }

  deinit { OCSP_BASICRESP_free(basic) }

  func entries(for leaf: CertificateView, of issuer: CertificateView) -> [Entry] {
    let identifiers = [EVP_sha1(), EVP_sha256()].compactMap { OCSP_cert_to_id($0, leaf.pointer, issuer.pointer) }
    defer { for identifier in identifiers { OCSP_CERTID_free(identifier) } }
    return (0..<max(0, OCSP_resp_count(basic))).compactMap { index in
      guard let single = OCSP_resp_get0(basic, index), let own = OCSP_SINGLERESP_get0_id(single),
        identifiers.contains(where: { OCSP_id_cmp(own, $0) == 0 })
      else { return nil }
      var reason: Int32 = 0
      var times: (UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?, UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?) = (nil, nil)
      let status = OCSP_single_get0_status(single, &reason, nil, &times.0, &times.1)
      return Entry(
        status: status, thisUpdate: seconds(times.0), nextUpdate: seconds(times.1), hasNextUpdate: times.1 != nil)
    }
  }

  /// Whether the issuer has signed the response, or a responder to which the issuer delegates (RFC 6960 section
  /// 4.2.2.2).
  func isSigned(by issuer: CertificateView, now: Int64) -> Bool {
    // OCSP_basic_verify could also build the chain of the signer. It would then read all certificates that the upstream
    // sends, without limits. Here, no key is used that the issuer has not signed.
    guard hasStrongSignature else { return false }
    if verifies(with: issuer) { return true }
    let sent = OCSP_resp_get0_certs(basic)
    return (0..<max(0, min(bearerd_sk_X509_num(sent), Self.maximumSigners))).contains { index in
      guard let certificate = bearerd_sk_X509_value(sent, index) else { return false }
      let responder = CertificateView(pointer: certificate)
      // The revocation of a responder is not checked. Authorities renew these certificates often, and most have the
      // extension id-pkix-ocsp-nocheck.
      return responder.isResponder(of: issuer, now: now) && verifies(with: responder)
    }
  }

  /// Whether `signer` is the response's signer, by its identifier and by the signature.
  private func verifies(with signer: CertificateView) -> Bool {
    guard let signers = bearerd_sk_X509_new() else { return false }
    defer { bearerd_sk_X509_free(signers) }
    // Only the signature, and only by this signer.
    let flags = UInt(OCSP_NOINTERN | OCSP_NOVERIFY)
    return bearerd_sk_X509_push(signers, signer.pointer) > 0 && OCSP_basic_verify(basic, signers, nil, flags) > 0
  }

  /// Whether the digest of the signature is strong enough. OpenSSL does not check this.
  private var hasStrongSignature: Bool {
    var algorithm: OpaquePointer?  // ASN1_OBJECT
    X509_ALGOR_get0(&algorithm, nil, nil, OCSP_resp_get0_tbs_sigalg(basic))
    var digest: Int32 = 0
    guard OBJ_find_sigid_algs(OBJ_obj2nid(algorithm), &digest, nil) == 1 else { return false }
    // NID_undef: the digest belongs to the algorithm, as in Ed25519, or to its parameters, as in RSA-PSS.
    return [NID_sha256, NID_sha384, NID_sha512, NID_undef].contains(digest)
  }
}

extension CertificateView {
  /// Strength of level 2 of OpenSSL, which also applies to chains.
  private static let minimumSecurityBits: Int32 = 112

  /// Whether the issuer has signed this certificate and allows it to sign OCSP responses.
  fileprivate func isResponder(of issuer: CertificateView, now: Int64) -> Bool {
    var strength: Int32 = 0
    let flags = X509_get_extension_flags(pointer)
    return flags & UInt32(EXFLAG_XKUSAGE) != 0 && flags & UInt32(EXFLAG_INVALID | EXFLAG_CRITICAL) == 0
      && X509_get_extended_key_usage(pointer) & UInt32(XKU_OCSP_SIGN) != 0 && isValid(at: now)
      && X509_check_issued(issuer.pointer, pointer) == X509_V_OK
      && X509_get_signature_info(pointer, nil, nil, &strength, nil) == 1 && strength >= Self.minimumSecurityBits
      && X509_verify(pointer, X509_get0_pubkey(issuer.pointer)) == 1
      && EVP_PKEY_get_security_bits(X509_get0_pubkey(pointer)) >= Self.minimumSecurityBits
      && EVP_PKEY_get_bits(X509_get0_pubkey(pointer)) <= ChainLimits.keyBits
  }
}
