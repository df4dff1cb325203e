internal import COpenSSL

/// A TLS failure. Clients learn only `kind`.
package struct TLSError: Error, Sendable, Equatable, CustomStringConvertible {
  package enum Kind: String, Sendable {
    /// The chain is not trusted, or a certificate is missing or not suitable.
    case certificateInvalid = "certificate invalid"
    case certificateExpired = "certificate expired, or not valid yet"
    case hostnameMismatch = "certificate for another name"
    case pinMismatch = "no pin matches"
    case pinsExpired = "pins expired"
    /// A revocation list or a stapled OCSP response says that a certificate was revoked.
    case certificateRevoked = "certificate revoked"
    /// The stapled OCSP response is missing, expired, or not verifiable.
    case stapleMissing = "no usable OCSP response"
    /// No valid revocation list covers the certificate.
    case revocationUnknown = "revocation unknown"
    /// The peer broke or refused the TLS protocol.
    case handshakeFailed = "handshake failed"
    case closed
    /// The client certificate of the credential is missing or not valid now.
    case noClientCertificate = "client certificate"
    case internalError = "internal error"
  }

  package let kind: Kind
  /// Details for the log, without secrets and control characters.
  package let detail: String

  package init(kind: Kind, detail: String) {
    self.kind = kind
    self.detail = detail
  }

  package var description: String { "\(kind.rawValue): \(detail)" }

  /// Returns an internal error with the reasons in OpenSSL's queue, and empties the queue.
  static func internalError(_ operation: String) -> Self {
    let reasons = drainReasons()
    return Self(kind: .internalError, detail: reasons.isEmpty ? operation : "\(operation): \(reasons)")
  }

  /// Returns the error for a verification result (X509_V_ERR_…).
  /// - Parameter seen: The rejected certificate, with the cause and the next step.
  static func verification(_ code: Int, wanted: String, seen: String?) -> Self {
    let reason = String(cString: X509_verify_cert_error_string(code))
    let kind: Kind =
      switch Int32(truncatingIfNeeded: code) {
      case X509_V_ERR_CERT_HAS_EXPIRED, X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_ERROR_IN_CERT_NOT_AFTER_FIELD,
        X509_V_ERR_ERROR_IN_CERT_NOT_BEFORE_FIELD:
        .certificateExpired
      case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH: .hostnameMismatch
      case X509_V_ERR_CERT_REVOKED: .certificateRevoked
      case let code where RevocationListCheck.isListError(code): .revocationUnknown
      default: .certificateInvalid
      }
    return Self(kind: kind, detail: seen.map { "\($0) (OpenSSL: \(reason))" } ?? "\(reason); wanted: \(wanted)")
  }
}

/// Empties this thread's OpenSSL error queue, and returns the reasons.
func drainReasons() -> String {
  // The reasons are fixed texts, never a peer's bytes.
  var reasons: [String] = []
  while case let code = ERR_get_error(), code != 0 {
    let reason = ERR_reason_error_string(code).map { String(cString: $0) } ?? "error \(String(code, radix: 16))"
    if !reasons.contains(reason) { reasons.append(reason) }
  }
  return reasons.joined(separator: ", ")
}
