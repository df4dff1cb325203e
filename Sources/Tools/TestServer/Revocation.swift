internal import COpenSSL
internal import Glibc

extension Certificate {
  package struct ListOptions: Sendable {
    package var revoked: [Certificate] = []
    /// Times in seconds relative to the current time. `nil` for a list without `nextUpdate`.
    package var thisUpdate = -3600
    package var nextUpdate: Int? = 3600
    /// The certificate whose key signs; `nil` for the authority itself.
    package var signer: Certificate?
    /// Whether the list names the key of the authority.
    package var namesKey = true
    /// Whether the list has only the changes since another list.
    package var isDelta = false
    /// The issuing distribution point in the syntax of x509v3_config(5), such as `indirectCRL:TRUE`.
    package var distributionPoint: String?
    package init() {}
  }

  /// Returns a revocation list (RFC 5280 section 5) of this authority, in PEM.
  package func revocationListPEM(_ options: ListOptions = ListOptions()) throws -> String {
    guard let list = X509_CRL_new() else { throw TestServerError.openSSL("X509_CRL_new") }
    defer { X509_CRL_free(list) }
    guard X509_CRL_set_version(list, 1) == 1, X509_CRL_set_issuer_name(list, X509_get_subject_name(certificate)) == 1
    else { throw TestServerError.openSSL("filling a revocation list") }
    try withTime(options.thisUpdate) { X509_CRL_set1_lastUpdate(list, $0) }
    if let time = options.nextUpdate { try withTime(time) { X509_CRL_set1_nextUpdate(list, $0) } }
    for other in options.revoked {
      guard let entry = X509_REVOKED_new() else { throw TestServerError.openSSL("X509_REVOKED_new") }
      X509_REVOKED_set_serialNumber(entry, X509_get_serialNumber(other.certificate))
      try withTime(options.thisUpdate) { X509_REVOKED_set_revocationDate(entry, $0) }
      X509_CRL_add0_revoked(list, entry)
    }
    if options.namesKey {
      try addExtension(NID_authority_key_identifier, "keyid:always", toList: list, issuer: certificate)
    }
    if let point = options.distributionPoint {
      try addExtension(NID_issuing_distribution_point, "critical,\(point)", toList: list, issuer: certificate)
    }
    if options.isDelta {
      let number = ASN1_INTEGER_new()
      defer { ASN1_INTEGER_free(number) }
      ASN1_INTEGER_set(number, 1)
      guard X509_CRL_add1_ext_i2d(list, NID_delta_crl, number, 1, 0) == 1 else {
        throw TestServerError.openSSL("the delta indicator")
      }
    }
    X509_CRL_sort(list)
    guard X509_CRL_sign(list, (options.signer ?? self).key, EVP_sha256()) > 0 else {
      throw TestServerError.openSSL("X509_CRL_sign")
    }
    return text { PEM_write_bio_X509_CRL($0, list) }
  }
}

extension Certificate {
  package enum Status: Sendable { case good, revoked, unknown }

  package struct ResponseOptions: Sendable {
    package var status = Status.good
    /// Times in seconds relative to the current time. `nil` for a response without `nextUpdate`.
    package var thisUpdate = -3600
    package var nextUpdate: Int? = 3600
    /// The certificate whose key signs, and which the response contains; `nil` for the authority itself.
    package var signer: Certificate?
    /// Whether the response names the certificate by SHA-256. Otherwise by SHA-1.
    package var namesBySHA256 = false
    /// Whether the digest of the signature is SHA-1.
    package var isWeak = false
    package init() {}
  }

  /// Returns an OCSP response (RFC 6960) of this authority about a certificate.
  package func ocspResponse(
    for leaf: Certificate, _ options: ResponseOptions = ResponseOptions()
  ) throws -> [UInt8] {
    guard let basic = OCSP_BASICRESP_new() else { throw TestServerError.openSSL("OCSP_BASICRESP_new") }
    defer { OCSP_BASICRESP_free(basic) }
    let digest = options.namesBySHA256 ? EVP_sha256() : EVP_sha1()
    let identifier = OCSP_cert_to_id(digest, leaf.certificate, certificate)
    defer { OCSP_CERTID_free(identifier) }
    let begin = ASN1_TIME_adj(nil, time(nil), 0, options.thisUpdate)
    let end = options.nextUpdate.map { ASN1_TIME_adj(nil, time(nil), 0, $0) } ?? nil
    defer {
      ASN1_TIME_free(begin)
      ASN1_TIME_free(end)
    }
    let status =
      switch options.status {
      case .good: V_OCSP_CERTSTATUS_GOOD
      case .revoked: V_OCSP_CERTSTATUS_REVOKED
      case .unknown: V_OCSP_CERTSTATUS_UNKNOWN
      }
    let signer = options.signer ?? self
    let flags = UInt(options.signer == nil ? OCSP_NOCERTS : 0)
    guard
      OCSP_basic_add1_status(
        basic, identifier, status, 0, options.status == .revoked ? begin : nil, begin, end) != nil,
      OCSP_basic_sign(
        basic, signer.certificate, signer.key, options.isWeak ? EVP_sha1() : EVP_sha256(), nil, flags) == 1,
      let response = OCSP_response_create(OCSP_RESPONSE_STATUS_SUCCESSFUL, basic)
    else { throw TestServerError.openSSL("an OCSP response") }
    defer { OCSP_RESPONSE_free(response) }
    return encoded { i2d_OCSP_RESPONSE(response, $0) }
  }
}

/// Passes a time in seconds relative to the current time to a function of OpenSSL.
private func withTime(_ seconds: Int, _ set: (UnsafeMutablePointer<ASN1_TIME>?) -> Int32) throws {
  let time = ASN1_TIME_adj(nil, Glibc.time(nil), 0, seconds)
  defer { ASN1_TIME_free(time) }
  guard set(time) == 1 else { throw TestServerError.openSSL("a time") }
}
