internal import COpenSSL
internal import Policy

/// Our own certificate on a connection: shown when the upstream asks for it, and has proved by then what `Handshake.verified`
/// will ask of it. That comes too late here: by the end of a handshake an upstream knows who we are (T25).
struct ShownCertificate {
  let certificate: ClientCertificate
  let identity: SessionIdentity
  /// When the handshake began.
  let now: Moment

  /// Installs the callback by which OpenSSL answers a CertificateRequest: of TLS 1.3 once the server's chain and its signature
  /// are verified, of TLS 1.2 too.
  static func install(in context: OpaquePointer) {  // SSL_CTX
    SSL_CTX_set_cert_cb(
      context,
      { ssl, _ in
        guard let ssl, let state = TLSConnection.state(of: ssl), let shown = state.shown else { return 0 }
        do throws(TLSError) { try shown.judge(ssl, state) } catch {
          state.refused = error
          return 0
        }
        return shown.certificate.install(in: ssl) ? 1 : 0
      }, nil)
  }

  /// Chain, name, time and pins.
  private func judge(_ ssl: OpaquePointer, _ state: ConnectionState) throws(TLSError) {
    let host = identity.origin.host
    let verdict = SSL_get_verify_result(ssl)
    guard verdict == Int(X509_V_OK) else {
      throw .verification(verdict, wanted: host.description, seen: state.rejected)
    }
    let chain = TLSConnection.verifiedChain(of: ssl)
    guard let leaf = chain.first, leaf.isFor(host), leaf.isValid(at: now.calendar) else {
      throw TLSError(kind: .certificateInvalid, detail: "\(host): there is no verified chain")
    }
    let pinning = identity.trust.pinning
    if let expires = pinning.expires, !pinning.pins.isEmpty, now.calendar >= expires {
      throw TLSError(kind: .pinsExpired, detail: "the pins of \(host) have expired: renew them and `pins_expire`")
    }
    _ = try evaluatePins(pinning, chain: chain, leafKey: leaf.keyDigest, host: host)
  }
}
