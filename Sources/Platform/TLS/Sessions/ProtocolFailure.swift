internal import COpenSSL
internal import Policy

extension TLSError {
  /// Returns a protocol error with the reasons in OpenSSL's queue, and empties the queue.
  static func protocolError(_ operation: String, _ state: ConnectionState) -> Self {
    let reason = ERR_GET_REASON(ERR_peek_error())
    let reasons = drainReasons()
    let advice = state.advice(about: reason).map { " (\($0))" } ?? ""
    return Self(kind: .handshakeFailed, detail: "\(operation): \(reasons.isEmpty ? "failed" : reasons)\(advice)")
  }
}

/// The cause of a failure and the next step, in words for the log.
extension ConnectionState {
  // The words contain no bytes of the upstream, except those of `Greeting`.

  /// Why the upstream may have ended the connection without an alert; `nil` if nothing is known.
  var advice: String? {
    if hasRefusedRenegotiation { return lateRequest }
    // After the handshake, an upstream that only accepts client certificates has other reasons.
    return isAskedForCertificate && verdict == nil ? requestedCertificate : nil
  }

  /// Explains a reason (SSL_R_…) of OpenSSL; `nil` if there is no explanation.
  func advice(about reason: Int32) -> String? {
    if hasRefusedRenegotiation { return lateRequest }
    guard greeting.isTLS else {
      let protocolName = greeting.text.hasPrefix("HTTP/") ? "speaks plain HTTP, not TLS," : "does not speak TLS"
      return """
        \(host) \(protocolName) on this port. Its first bytes are "\(greeting.text)": correct the port in `upstream`
        """
    }
    let alert = reason >= SSL_AD_REASON_OFFSET ? reason - Int32(SSL_AD_REASON_OFFSET) : -1
    return alert >= 0 ? advice(aboutAlert: alert) : advice(aboutError: reason)
  }

  /// Explains an alert of the upstream (RFC 8446 section 6.2).
  private func advice(aboutAlert alert: Int32) -> String? {
    switch alert {
    case SSL_AD_CERTIFICATE_REQUIRED: requestedCertificate
    case SSL_AD_BAD_CERTIFICATE, SSL_AD_UNSUPPORTED_CERTIFICATE, SSL_AD_CERTIFICATE_REVOKED, SSL_AD_CERTIFICATE_EXPIRED,
      SSL_AD_CERTIFICATE_UNKNOWN, SSL_AD_UNKNOWN_CA, SSL_AD_ACCESS_DENIED, SSL_AD_DECRYPT_ERROR:
      isAskedForCertificate ? requestedCertificate : nil
    case SSL_AD_HANDSHAKE_FAILURE, SSL_AD_INSUFFICIENT_SECURITY:
      isAskedForCertificate ? requestedCertificate : noCommonCipher
    case SSL_AD_PROTOCOL_VERSION: oldVersion
    case SSL_AD_UNRECOGNIZED_NAME: "the upstream does not serve the name \(host): correct the name in `upstream`"
    // RFC 7301 section 3.2: the upstream supports none of the protocols that bearerd offered.
    case SSL_AD_NO_APPLICATION_PROTOCOL: refusedProtocols
    default: nil
    }
  }

  /// Explains an error that OpenSSL itself found.
  private func advice(aboutError reason: Int32) -> String? {
    switch reason {
    case SSL_R_WRONG_VERSION_NUMBER: "does this port speak TLS?"
    case SSL_R_UNSUPPORTED_PROTOCOL, SSL_R_WRONG_SSL_VERSION: oldVersion
    case SSL_R_WRONG_CIPHER_RETURNED, SSL_R_UNKNOWN_CIPHER_RETURNED: noCommonCipher
    case SSL_R_UNSAFE_LEGACY_RENEGOTIATION_DISABLED:
      """
      the upstream lacks secure renegotiation, RFC 5746, so an attacker could insert data into its connections: its \
      operator must update its TLS software
      """
    case SSL_R_EXCESSIVE_MESSAGE_SIZE: "bearerd reads at most \(ChainLimits.bytes) bytes of certificates"
    case SSL_R_WRONG_SIGNATURE_TYPE:
      """
      the upstream signs the handshake with an algorithm that bearerd does not accept, such as SHA-1: its operator must \
      allow SHA-256
      """
    // OpenSSL has refused the selection (RFC 7301 section 3.1).
    case SSL_R_BAD_EXTENSION:
      "perhaps the upstream selected a protocol that bearerd did not offer. \(offeredProtocols)"
    // In TLS 1.3, a server may request a certificate after the handshake only if the client has offered this.
    case SSL_R_UNEXPECTED_MESSAGE where verdict != nil:
      "perhaps the upstream requested a client certificate after the handshake. \(onlyFirstHandshake)"
    default: nil
    }
  }

  /// Explains the alert of an upstream that supports none of the offered protocols.
  private var refusedProtocols: String {
    switch protocols {
    case [.http1]: break
    case [.http2]: return "the upstream does not support HTTP/2. \(offeredProtocols)"
    default:
      return """
        the upstream supports neither HTTP/2 nor HTTP/1.1 on this port: correct the port in `upstream`, or ask its operator \
        which protocols it supports
        """
    }
    return """
      the upstream does not accept HTTP/1.1, which bearerd offered. Probably it supports only HTTP/2. If the service has \
      protocol: http1, set protocol: auto. WebSockets and logins by NTLM or Negotiate need HTTP/1.1
      """
  }

  var offeredProtocols: String {
    let offer = "bearerd offered only \(protocols.map(\.name).joined(separator: " and "))"
    return protocols != [.http2]
      ? offer : "\(offer). To allow HTTP/1.1, set protocol: auto or http1"
  }

  private var oldVersion: String {
    """
    bearerd requires TLS 1.2 or 1.3, and the upstream supports only other versions, such as TLS 1.0 and 1.1: its operator \
    must enable TLS 1.2
    """
  }

  private var noCommonCipher: String {
    """
    usually the upstream supports none of bearerd's ciphers: in TLS 1.2, ECDHE with AES-GCM or ChaCha20-Poly1305. Its \
    operator must enable one of them, or TLS 1.3. Some servers also end the handshake like this if they do not serve the \
    name \(host)
    """
  }

  private var requestedCertificate: String {
    guard let shown = presentedCertificate else {
      return """
        the upstream requested a client certificate, and bearerd has none for this connection: add client_certificate to \
        the service's credential
        """
    }
    return """
      perhaps the upstream rejects our client certificate, \(shown.certificate.subject): ask its operator which \
      authority must issue it
      """
  }

  private var lateRequest: String {
    """
    the upstream requested renegotiation, usually because it requires a client certificate only for some paths, and \
    bearerd does not renegotiate. \(onlyFirstHandshake)
    """
  }

  private var onlyFirstHandshake: String {
    let addition = presentedCertificate == nil ? "add client_certificate to the service's credential, and " : ""
    return """
      bearerd presents a client certificate only in the first handshake: \(addition)let the upstream request it there (in \
      Apache, SSLVerifyClient for the whole host, not for a path)
      """
  }

  private var host: String { origin.host.description }
}
