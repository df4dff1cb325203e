internal import COpenSSL
internal import Crypto
package import Policy

/// An SSL_CTX for one identity, with its resumable sessions, which are never serialized or shared.
package final class ClientContext {
  package let identity: SessionIdentity
  let context: OpaquePointer  // SSL_CTX
  let sessions = SessionCache()
  private var fullHandshakes: UInt64 = 0
  private var resumedHandshakes: UInt64 = 0
  private let store: TrustStore
  private let certificate: ClientCertificate?
  private let cleanses: Bool

  /// - Parameters:
  ///   - certificate: The client certificate that `identity` names.
  ///   - cleanses: Whether OpenSSL wipes its copies of decrypted bytes.
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
    guard store.hasRevocationLists == (identity.trust.revocation?.listFile != nil) else {
      throw TLSError(kind: .internalError, detail: "\(identity.origin): a store with other revocation lists")
    }
    ERR_clear_error()
    guard let context = SSL_CTX_new_ex(LeanLibrary.context, nil, TLS_client_method()) else {
      throw .internalError("SSL_CTX_new_ex")
    }
    (self.store, self.certificate, self.cleanses) = (store, certificate, cleanses)
    self.identity = identity
    self.context = context
    store.install(in: context)
    try setProtocol()
    try setVerification()
    setSessions()
    if cleanses { SSL_CTX_set_options(context, bearerd_SSL_OP_CLEANSE_PLAINTEXT()) }
  }

  deinit { SSL_CTX_free(context) }

  /// Returns a context that offers other protocols, and is otherwise the same. It shares no TLS session with this one.
  package func offering(_ protocols: [ApplicationProtocol]) throws(TLSError) -> ClientContext {
    try ClientContext(
      identity: identity.offering(protocols), store: store, certificate: certificate, cleanses: cleanses)
  }

  /// Starts a handshake. Call `advance` with empty input to send its first message.
  /// - Parameters:
  ///   - keepsBuffers: Whether the connection keeps its record buffers (33 KiB) all its life.
  ///   - evidence: Gets the certificates if verification fails.
  package func handshake(
    sink: CiphertextSink, now: Moment, keepsBuffers: Bool = false, evidence: EvidenceRecorder? = nil
  ) throws(TLSError) -> Handshake {
    if let certificate, !certificate.validity.contains(now.calendar) {
      throw TLSError(
        kind: .noClientCertificate,
        detail: "our client certificate, \(certificate.subject), \(certificate.validity.fault(at: now.calendar))")
    }
    let offered = sessions.offer(now: now)
    let shown = certificate.map { PresentedCertificate(certificate: $0, identity: identity, now: now) }
    let state = ConnectionState(
      origin: identity.origin, protocols: identity.protocols, sink: sink, sessions: sessions, presenting: shown,
      evidence: evidence)
    let connection = try TLSConnection(context: context, offering: offered, state: state)
    if keepsBuffers { connection.keepBuffers() }
    return Handshake(connection: connection, context: self, offered: offered)
  }

  /// Removes all sessions. Existing connections then add no new sessions.
  package func discardSessions() { sessions.removeAll() }

  /// The numbers of full and resumed handshakes so far, and of sessions in the cache (`kept`).
  package var statistics: (full: UInt64, resumed: UInt64, kept: Int) {
    (fullHandshakes, resumedHandshakes, sessions.count)
  }

  func count(isResumed: Bool) {
    if isResumed { resumedHandshakes &+= 1 } else { fullHandshakes &+= 1 }
  }

  private static let ciphers = "ECDHE+AESGCM:ECDHE+CHACHA20:!aNULL"

  private func setProtocol() throws(TLSError) {
    SSL_CTX_set_security_level(context, 2)
    // TLS 1.2 only with forward secrecy and AEAD (RFC 9325 section 4.2). Without forward secrecy, a key that leaks
    // later decrypts recorded traffic (T66). TLS 1.3 has no other ciphers.
    guard SSL_CTX_set_cipher_list(context, ClientContext.ciphers) == 1 else { throw .internalError("configuring TLS") }
    SSL_CTX_set_options(context, bearerd_SSL_OP_NO_RENEGOTIATION() | bearerd_SSL_OP_NO_COMPRESSION())
    let mode = SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS
    bearerd_SSL_CTX_set_mode(context, Int(mode))
    // Names the protocols, so that no server mistakes the bytes for another protocol.
    let protocols = identity.protocols.flatMap { [UInt8($0.rawValue.utf8.count)] + Array($0.rawValue.utf8) }
    guard
      bearerd_SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1,
      SSL_CTX_set_alpn_protos(context, protocols, UInt32(protocols.count)) == 0
    else { throw .internalError("configuring TLS") }
  }

  private func setVerification() throws(TLSError) {
    let parameters = SSL_CTX_get0_param(context)
    // PARTIAL_CHAIN: every certificate in a ca_file is an anchor, also intermediates and self-signed server
    // certificates. Not X509_STRICT: it refuses many private authorities for the form of their certificates (no key
    // identifiers), and proves nothing more about the holder of a key.
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
      guard isGood != 1, let storeContext else { return isGood }
      if RevocationListCheck.tolerates(storeContext) { return 1 }
      recordRejection(storeContext)
      return isGood
    }
    if identity.trust.revocation?.stapling != nil {
      SSL_CTX_ctrl(context, SSL_CTRL_SET_TLSEXT_STATUS_REQ_TYPE, Int(TLSEXT_STATUSTYPE_ocsp), nil)
    }
  }

  private func setSessions() {
    // New sessions go only to the callback, and not to OpenSSL's own cache.
    bearerd_SSL_CTX_set_session_cache_mode(context, Int(SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL))
    SSL_CTX_sess_set_new_cb(context) { ssl, session in
      guard let ssl, let session, let state = TLSConnection.state(of: ssl) else { return 0 }
      // TLS 1.2 calls this during the handshake, before anything is proved. `Handshake.verified` stores its session
      // later.
      guard let verdict = state.verdict else { return 0 }
      state.sessions.insert(CachedSession(owning: session, verdict: verdict), epoch: state.epoch)
      return 1
    }
    PresentedCertificate.install(in: context)
    SSL_CTX_set_info_callback(context) { ssl, kind, value in
      // With SSL_OP_NO_RENEGOTIATION, OpenSSL sends this warning and continues.
      guard kind == SSL_CB_WRITE_ALERT, value & 0xFF == SSL_AD_NO_RENEGOTIATION, let ssl else { return }
      TLSConnection.state(of: ssl)?.hasRefusedRenegotiation = true
    }
  }
}

private func recordRejection(_ storeContext: OpaquePointer) {  // X509_STORE_CTX
  guard
    let ssl = X509_STORE_CTX_get_ex_data(storeContext, SSL_get_ex_data_X509_STORE_CTX_idx()),
    let state = TLSConnection.state(of: OpaquePointer(ssl)), state.rejectedCertificate == nil
  else { return }
  state.rejectedCertificate = Rejection(storeContext, host: state.origin.host, now: Int64(time(nil)))?.words
}
