internal import COpenSSL
internal import Crypto
internal import Policy

/// One SSL_CTX for one identity, with that identity's resumable sessions (never serialised, never shared).
package final class ClientContext {
  package let identity: SessionIdentity
  let context: OpaquePointer  // SSL_CTX
  let sessions = SessionCache()
  private var fullHandshakes: UInt64 = 0
  private var resumedHandshakes: UInt64 = 0
  private let certificate: ClientCertificate?

  /// - Parameters:
  ///   - certificate: our own, that of `identity`.
  ///   - cleanses: what comes is a secret, and not left behind where it was decrypted.
  package init(
    identity: SessionIdentity, store: TrustStore, certificate: ClientCertificate? = nil, cleanses: Bool = false
  ) throws(TLSError) {
    OpenSSLLibrary.start()
    guard identity.certificate == certificate?.fingerprint else {
      throw TLSError(kind: .internalError, detail: "\(identity.origin): another certificate of our own")
    }
    guard identity.origin.scheme == .https, identity.trustFingerprint == store.fingerprint else {
      throw TLSError(kind: .internalError, detail: "\(identity.origin): not https, or another trust store")
    }
    ERR_clear_error()
    guard let context = SSL_CTX_new_ex(LeanLibrary.context, nil, TLS_client_method()) else {
      throw .internalError("SSL_CTX_new_ex")
    }
    self.certificate = certificate
    self.identity = identity
    self.context = context
    store.install(in: context)
    try setProtocol()
    try setVerification()
    setSessions()
    if cleanses { SSL_CTX_set_options(context, bearerd_SSL_OP_CLEANSE_PLAINTEXT()) }
  }

  deinit { SSL_CTX_free(context) }

  /// Starts a handshake: the ClientHello goes to the sink at the first `advance`. Offers a session of this identity if
  /// there is one that holds now.
  /// - Parameter keepsBuffers: the connection keeps room for a record each way, 33 KiB, all its life; else it asks the allocator
  ///   for it at each record.
  package func handshake(sink: CiphertextSink, now: Moment, keepsBuffers: Bool = false) throws(TLSError) -> Handshake {
    if let certificate, !certificate.validity.contains(now.calendar) {
      throw TLSError(
        kind: .noClientCertificate,
        detail: "our client certificate, \(certificate.subject), is expired or not yet valid")
    }
    let offered = sessions.offer(now: now)
    let shown = certificate.map { ShownCertificate(certificate: $0, identity: identity, now: now) }
    let state = ConnectionState(origin: identity.origin, sink: sink, sessions: sessions, shown: shown)
    let connection = try TLSConnection(context: context, offering: offered, state: state)
    if keepsBuffers { connection.keepBuffers() }
    return Handshake(connection: connection, context: self, offered: offered)
  }

  /// For a new generation or a revoked grant. Connections that exist bring no new ones.
  package func discardSessions() {
    sessions.forget()
  }

  /// Full and resumed handshakes so far; sessions kept.
  package var statistics: (full: UInt64, resumed: UInt64, kept: Int) {
    (fullHandshakes, resumedHandshakes, sessions.count)
  }

  func count(isResumed: Bool) {
    if isResumed { resumedHandshakes &+= 1 } else { fullHandshakes &+= 1 }
  }

  private static let ciphers = "ECDHE+AESGCM:ECDHE+CHACHA20:!aNULL"

  private func setProtocol() throws(TLSError) {
    SSL_CTX_set_security_level(context, 2)
    // TLS 1.2 with forward secrecy and AEAD alone (RFC 9325 section 4.2): without it, a key that becomes known later opens what was
    // recorded before (T66). TLS 1.3 has no others.
    guard SSL_CTX_set_cipher_list(context, ClientContext.ciphers) == 1 else { throw .internalError("configuring TLS") }
    let options = bearerd_SSL_OP_NO_RENEGOTIATION() | bearerd_SSL_OP_NO_COMPRESSION()
    SSL_CTX_set_options(context, options)
    let mode = SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS
    bearerd_SSL_CTX_set_mode(context, Int(mode))
    // Says what we speak, so that no server takes our bytes for another protocol's
    let protocols = [UInt8(alpn.utf8.count)] + Array(alpn.utf8)
    guard
      bearerd_SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1,
      SSL_CTX_set_alpn_protos(context, protocols, UInt32(protocols.count)) == 0
    else { throw .internalError("configuring TLS") }
  }

  private func setVerification() throws(TLSError) {
    let parameters = SSL_CTX_get0_param(context)
    // PARTIAL_CHAIN: whatever a ca_file lists is an anchor, intermediates and self-signed server certificates too.
    // Not X509_STRICT: it refuses many private authorities for the form of their certificates (no key identifiers), and
    // adds nothing about who holds a key.
    X509_VERIFY_PARAM_set_flags(parameters, UInt(X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_TRUSTED_FIRST))
    X509_VERIFY_PARAM_set_hostflags(parameters, hostFlags)
    let isSet =
      switch identity.origin.host {
      case .name(let name): name.isEmpty ? 0 : X509_VERIFY_PARAM_set1_host(parameters, name, name.utf8.count)
      case .address(let address): X509_VERIFY_PARAM_set1_ip(parameters, address.bytes, address.bytes.count)
      }
    guard isSet == 1, X509_VERIFY_PARAM_set_purpose(parameters, X509_PURPOSE_SSL_SERVER) == 1 else {
      throw .internalError("setting the name to verify")
    }
    SSL_CTX_set_verify_depth(context, 10)
    try ChainLimits.install(in: context)
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER) { isGood, storeContext in
      if isGood != 1, let storeContext { recordRejection(storeContext) }
      return isGood
    }
  }

  private func setSessions() {
    // Sessions that come are offered to us and to no other context
    bearerd_SSL_CTX_set_session_cache_mode(context, Int(SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL))
    SSL_CTX_sess_set_new_cb(context) { ssl, session in
      guard let ssl, let session, let state = TLSConnection.state(of: ssl) else { return 0 }
      // TLS 1.2 calls within the handshake: nothing is proved yet, `Handshake.verified` will ask for the session
      guard let verdict = state.verdict else { return 0 }
      state.sessions.keep(KeptSession(owning: session, verdict: verdict), epoch: state.epoch)
      return 1
    }
    if certificate != nil { ShownCertificate.install(in: context) }
  }
}

/// The one protocol that we speak.
let alpn = "http/1.1"

private func recordRejection(_ storeContext: OpaquePointer) {  // X509_STORE_CTX
  guard
    let ssl = X509_STORE_CTX_get_ex_data(storeContext, SSL_get_ex_data_X509_STORE_CTX_idx()),
    let state = TLSConnection.state(of: OpaquePointer(ssl)), state.rejected == nil,
    let pointer = X509_STORE_CTX_get_current_cert(storeContext)
  else { return }
  let certificate = CertificateView(pointer: pointer)
  let names = certificate.alternativeNames
  state.rejected =
    "certificate \(X509_STORE_CTX_get_error_depth(storeContext)) of the chain, \(certificate.subject)"
    + (names.isEmpty ? "" : " (\(names))") + ", issued by \(certificate.issuer)"
    + hint(X509_STORE_CTX_get_error(storeContext), hasNames: !names.isEmpty)
}

/// What the operator of either side can do about a verdict of X509_verify_cert (X509_V_ERR_…).
private func hint(_ code: Int32, hasNames: Bool) -> String {
  switch code {
  case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
    X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    "; the certificate of this issuer is missing: the upstream should send it. Otherwise, put it into ca_file, together with its root"
  case X509_V_ERR_HOSTNAME_MISMATCH where !hasNames:
    "; this certificate names no host: only subjectAltName counts, and the common name (CN) does not (RFC 9525)"
  default: ""
  }
}
