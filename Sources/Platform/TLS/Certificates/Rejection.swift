internal import COpenSSL
internal import Policy

/// A certificate that OpenSSL rejected. Used only during OpenSSL's callback.
struct Rejection {
  private let code: Int32
  private let certificate: CertificateView
  /// The position of the certificate in the chain that OpenSSL built. 0 for the upstream's own certificate.
  private let depth: Int
  /// Whether the certificate is from ca_file or from the system, and not from the upstream.
  private let isTrusted: Bool
  /// Number of certificates that the upstream sent.
  private let sentCount: Int
  private let host: HostName
  /// Seconds since 1970.
  private let now: Int64

  /// `nil` if OpenSSL does not say which certificate it rejected.
  init?(_ storeContext: OpaquePointer, host: HostName, now: Int64) {  // X509_STORE_CTX
    guard let pointer = X509_STORE_CTX_get_current_cert(storeContext) else { return nil }
    certificate = CertificateView(pointer: pointer)
    code = X509_STORE_CTX_get_error(storeContext)
    depth = Int(X509_STORE_CTX_get_error_depth(storeContext))
    isTrusted = depth > 0 && depth >= Int(X509_STORE_CTX_get_num_untrusted(storeContext))
    sentCount = Int(bearerd_sk_X509_num(X509_STORE_CTX_get0_untrusted(storeContext)))
    (self.host, self.now) = (host, now)
  }

  /// The cause and the next step, in printable ASCII of at most about 1,500 bytes.
  var words: String {
    switch code {
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
      X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
      missingIssuer
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
      "\(subject) is self-signed and not trusted. If this is your own certificate, put it into ca_file. \(attack)"
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
      "the chain of \(host) ends in an authority that is not trusted, \(certificate.subject). \(privateAuthority)"
    case X509_V_ERR_CERT_HAS_EXPIRED, X509_V_ERR_CERT_NOT_YET_VALID:
      "\(subject) \(certificate.validity.fault(at: now)). If the clock is right, \(renewal)"
    case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH:
      Self.mismatch(of: certificate, host: host)
    case X509_V_ERR_EE_KEY_TOO_SMALL, X509_V_ERR_CA_KEY_TOO_SMALL:
      """
      \(subject) has a weak key, \(certificate.keyName): bearerd accepts RSA keys of at least 2048 bits and EC keys of at \
      least 224 bits. \(replacement)
      """
    case X509_V_ERR_CA_MD_TOO_WEAK:
      """
      \(subject) has a weak signature, \(certificate.signatureName): bearerd accepts SHA-256 and stronger hashes. \
      \(replacement)
      """
    case X509_V_ERR_INVALID_PURPOSE:
      "\(subject) may not be used for a server (extendedKeyUsage or keyUsage). \(replacement)"
    case X509_V_ERR_INVALID_CA:
      "\(subject) issued a certificate of the chain, but may not issue certificates (basicConstraints or keyUsage)"
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      "the signature of \(subject) is wrong: it was not made with the key of \(certificate.issuer). \(attack)"
    case X509_V_ERR_CERT_REVOKED:
      "\(subject) was revoked by its issuer, \(certificate.issuer). The upstream's operator must replace it"
    case X509_V_ERR_UNABLE_TO_GET_CRL:
      "crl_file has no revocation list of \(certificate.issuer), which issued \(subject). Add the list, and reload"
    case X509_V_ERR_CRL_HAS_EXPIRED:
      """
      the revocation list of \(certificate.issuer), which issued \(subject) has expired (nextUpdate). Put the new list into \
      crl_file, and reload
      """
    case X509_V_ERR_CRL_SIGNATURE_FAILURE:
      """
      the revocation list of \(certificate.issuer) in crl_file is damaged, or is from another authority with the same name. \
      Replace the list, and reload
      """
    case X509_V_ERR_DIFFERENT_CRL_SCOPE:
      """
      the revocation lists of \(certificate.issuer) in crl_file are for other certificates (RFC 5280 section 5.2.5). Add \
      the list for \(subject) and reload
      """
    default:
      "\(subject) was rejected. Its issuer is \(certificate.issuer)"
    }
  }

  /// Says that the certificate is for other names than the host.
  static func mismatch(of leaf: CertificateView, host: HostName) -> String {
    let names = leaf.alternativeNames
    guard !names.isEmpty else {
      return """
        the certificate is not for \(host): \(leaf.subject) names no host, because only subjectAltName counts, and the \
        common name (CN) does not (RFC 9525)
        """
    }
    return """
      the certificate is not for \(host): \(leaf.subject) is for \(names). If one of these names is right, write it into \
      `upstream`, or into `server_name` if bearerd has to connect to another host
      """
  }

  /// The certificate, as the subject of a sentence.
  private var subject: String {
    depth == 0
      ? "the certificate of \(host), \(certificate.subject),"
      : "the certificate of the authority \(certificate.subject)"
  }

  private var missingIssuer: String {
    let issuer = certificate.issuer
    guard depth == 0 else {
      return """
        no trusted authority issued \(subject): the certificate of its issuer, \(issuer), is not trusted. \
        \(privateAuthority)
        """
    }
    let sent =
      sentCount > 1
      ? "\(host) sent \(sentCount) certificates, but not the issuer's" : "\(host) sent no intermediate certificate"
    return """
      \(sent); the certificate of issuer \(issuer) is missing. The upstream should send it. Otherwise, put it into ca_file, \
      together with its root
      """
  }

  private var privateAuthority: String {
    "If this authority is your own, put its certificate into ca_file. \(attack)"
  }

  private var attack: String { "If not, an attacker may be intercepting the connection" }

  private var renewal: String {
    isTrusted
      ? "replace this certificate in ca_file or, without ca_file, update the system's authorities (ca-certificates)"
      : depth == 0
        ? "the upstream's operator must renew the certificate"
        : "the upstream's operator must send a chain without this certificate"
  }

  private var replacement: String { "The upstream's operator must replace it" }
}
