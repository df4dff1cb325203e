internal import COpenSSL
internal import Policy

/// The client certificate for one connection, sent only after the upstream is verified (T25).
struct PresentedCertificate {
  // Verification in `Handshake.verified` would be too late: the upstream then already has the certificate.

  let certificate: ClientCertificate
  let identity: SessionIdentity
  /// When the handshake began.
  let now: Moment

  /// Installs the callback that runs when the upstream requests a client certificate.
  static func install(in context: OpaquePointer) {  // SSL_CTX
    // In TLS 1.2 and 1.3, OpenSSL runs the callback after it has verified the upstream's chain and signature.
    SSL_CTX_set_cert_cb(
      context,
      { ssl, _ in
        guard let ssl, let state = TLSConnection.state(of: ssl) else { return 0 }
        state.isAskedForCertificate = true
        // With 1 and no certificate, OpenSSL sends an empty list of certificates, and the upstream decides.
        guard let shown = state.presentedCertificate else { return 1 }
        do throws(TLSError) { try shown.verifyServer(ssl, state) } catch {
          state.callbackError = error
          return 0
        }
        return shown.certificate.install(in: ssl) ? 1 : 0
      }, nil)
  }

  private func verifyServer(_ ssl: OpaquePointer, _ state: ConnectionState) throws(TLSError) {
    let host = identity.origin.host
    let verdict = SSL_get_verify_result(ssl)
    guard verdict == Int(X509_V_OK) else {
      throw .verification(verdict, wanted: host.description, seen: state.rejectedCertificate)
    }
    let chain = TLSConnection.verifiedChain(of: ssl)
    guard let leaf = chain.first, leaf.isFor(host), leaf.isValid(at: now.calendar) else {
      throw TLSError(kind: .certificateInvalid, detail: "\(host): there is no verified chain")
    }
    let pinning = identity.trust.pinning
    if let expires = pinning.expires, !pinning.pins.isEmpty, now.calendar >= expires {
      throw TLSError(kind: .pinsExpired, detail: "the pins of \(host) have expired: renew them and `pins_expire`")
    }
    try checkNameConstraints(chain, host: host)
    _ = try evaluatePins(pinning, chain: chain, leafKey: leaf.keyDigest, host: host)
    _ = try Staple.check(
      TLSConnection.staple(of: ssl), chain: chain, leafIsAnchor: state.leafIsAnchor, policy: identity.trust.revocation,
      host: host, now: now.calendar)
  }
}
