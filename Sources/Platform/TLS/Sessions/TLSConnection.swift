internal import COpenSSL
internal import Policy

/// The only owner of an SSL: processes ciphertext without a socket.
struct TLSConnection: ~Copyable {
  private let ssl: OpaquePointer  // SSL
  let state: ConnectionState

  init(context: OpaquePointer, offering session: CachedSession?, state: ConnectionState) throws(TLSError) {
    ERR_clear_error()
    let ssl = SSL_new(context)
    guard let ssl, isPrepared(ssl, offering: session, state: state) else {
      SSL_free(ssl)
      throw .internalError("preparing a connection to \(state.origin.host)")
    }
    self.ssl = ssl
    self.state = state
  }

  deinit {
    // Otherwise OpenSSL reads an end without close_notify as an attack, and marks the session unusable. Sends nothing.
    SSL_set_shutdown(ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN)
    SSL_free(ssl)
  }

  static func state(of ssl: OpaquePointer) -> ConnectionState? {
    SSL_get_ex_data(ssl, 0).map { Unmanaged.fromOpaque($0).takeUnretainedValue() }
  }

  func keepBuffers() { SSL_ctrl(ssl, SSL_CTRL_CLEAR_MODE, Int(SSL_MODE_RELEASE_BUFFERS), nil) }

  /// Continues the handshake with `input`, and returns `true` when the handshake is finished.
  mutating func handshake(_ input: Span<UInt8>) throws(TLSError) -> Bool {
    state.receive(input)
    return try state.lending(input) { () throws(TLSError) in
      guard !isFinished else { return true }
      ERR_clear_error()
      let status = SSL_do_handshake(ssl)
      if status == 1 { return true }
      guard SSL_get_error(ssl, status) == SSL_ERROR_WANT_READ else { throw handshakeError() }
      return false
    }
  }

  private func handshakeError() -> TLSError {
    defer { ERR_clear_error() }
    if let refused = state.callbackError { return refused }
    let verdict = SSL_get_verify_result(ssl)
    guard verdict == Int(X509_V_OK) else {
      return .verification(verdict, wanted: state.origin.host.description, seen: state.rejectedCertificate)
    }
    return .protocolError("handshake with \(state.origin.host)", state)
  }

  /// Decrypts `input`, appends the result to `plaintext`, and returns `true` when close_notify was received.
  mutating func read(_ input: Span<UInt8>, into plaintext: inout [UInt8]) throws(TLSError) -> Bool {
    // Plaintext is never longer than its ciphertext. A part of one record may already be buffered.
    let capacity = input.count &+ state.unreadCount &+ Int(SSL3_RT_MAX_PLAIN_LENGTH)
    var isClosed = false
    try state.lending(input) { () throws(TLSError) in
      try plaintext.append(addingCapacity: capacity) { (output: inout OutputSpan<UInt8>) throws(TLSError) in
        isClosed = try readAll(into: &output)
      }
    }
    return isClosed
  }

  private func readAll(into output: inout OutputSpan<UInt8>) throws(TLSError) -> Bool {
    while output.freeCapacity > 0 {
      clearErrors()
      let status = output.withUnsafeMutableBufferPointer { buffer, count in
        guard let start = buffer.baseAddress else { return Int32(0) }
        var read = 0
        let status = SSL_read_ex(ssl, start + count, buffer.count - count, &read)
        count += read
        return status
      }
      if status == 1 {
        // Saves a call that would only return SSL_ERROR_WANT_READ.
        if state.unreadCount == 0, SSL_has_pending(ssl) == 0 { return false }
        continue
      }
      switch SSL_get_error(ssl, status) {
      case SSL_ERROR_WANT_READ: return false
      case SSL_ERROR_ZERO_RETURN: return true
      default: throw .protocolError("reading from \(state.origin.host)", state)
      }
    }
    return false
  }

  mutating func write(_ bytes: UnsafeRawBufferPointer) throws(TLSError) {
    guard var position = bytes.baseAddress else { return }
    var rest = bytes.count
    let isLong = rest > Int(SSL3_RT_MAX_PLAIN_LENGTH)
    if isLong { state.sink.gather() }
    defer { if isLong { state.sink.flush() } }
    // The sink accepts everything, so any failure is an error, whatever the error queue has. Calls that leave errors in
    // the queue clear it themselves.
    while rest > 0 {
      var written = 0
      guard SSL_write_ex(ssl, position, rest, &written) == 1, written > 0 else {
        throw .protocolError("writing to \(state.origin.host)", state)
      }
      position += written
      rest -= written
    }
  }

  mutating func releaseBuffers() {
    // OpenSSL frees the record buffers after each write, but reading a session ticket also allocates a write buffer.
    SSL_free_buffers(ssl)
  }

  /// Sends close_notify if the handshake is finished.
  mutating func close() {
    ERR_clear_error()
    guard SSL_in_init(ssl) == 0, SSL_get_shutdown(ssl) & SSL_SENT_SHUTDOWN == 0 else { return }
    SSL_shutdown(ssl)
    ERR_clear_error()
  }

  var isFinished: Bool { SSL_is_init_finished(ssl) == 1 }
  var isResumed: Bool { SSL_session_reused(ssl) == 1 }
  var chainVerdict: Int { SSL_get_verify_result(ssl) }
  var usesSingleUseTickets: Bool { SSL_version(ssl) >= TLS1_3_VERSION }

  /// The name of the application protocol that the server selected with ALPN. Empty if it selected none.
  var selectedProtocol: String {
    var name: UnsafePointer<UInt8>?
    var length: UInt32 = 0
    SSL_get0_alpn_selected(ssl, &name, &length)
    return String(decoding: UnsafeBufferPointer(start: name, count: Int(length)), as: UTF8.self)
  }

  var leaf: CertificateView? {
    SSL_get0_peer_certificate(ssl).map { CertificateView(pointer: $0) }
  }

  /// The chain as verified, leaf first; empty for a resumed session (T22).
  var verifiedChain: [CertificateView] { Self.verifiedChain(of: ssl) }

  static func verifiedChain(of ssl: OpaquePointer) -> [CertificateView] {
    guard let chain = SSL_get0_verified_chain(ssl) else { return [] }
    return CertificateView.all(in: chain)
  }

  /// Describes the certificates that the server sent in this handshake, also if they failed verification.
  func describeServedChain() -> [CertificateDescription] { servedChain.compactMap { CertificateDescription($0) } }

  private var servedChain: [CertificateView] {
    let sent = SSL_get_peer_cert_chain(ssl)
    return (0..<max(0, min(bearerd_sk_X509_num(sent), Int32(ChainLimits.certificates)))).compactMap { index in
      bearerd_sk_X509_value(sent, index).map { CertificateView(pointer: $0) }
    }
  }

  /// Stores the certificates of the failed verification, if the connection has a recorder.
  func recordEvidence() {
    guard let recorder = state.evidence else { return }
    // After a failure, OpenSSL keeps the part of the chain that it has built.
    let validated = chainVerdict == Int(X509_V_OK) ? verifiedChain : []
    recorder.record(CertificateEvidence(served: servedChain, validated: validated))
    clearErrors()
  }

  /// The OCSP response that the upstream sent in this handshake; `nil` if it sent none.
  static func staple(of ssl: OpaquePointer) -> UnsafeRawBufferPointer? {
    var start: UnsafeMutablePointer<UInt8>?
    let count = SSL_ctrl(ssl, SSL_CTRL_GET_TLSEXT_STATUS_REQ_OCSP_RESP, 0, &start)
    guard let start, count > 0 else { return nil }
    return UnsafeRawBufferPointer(start: start, count: count)
  }

  var staple: UnsafeRawBufferPointer? { Self.staple(of: ssl) }

  /// Frees the OCSP response, which OpenSSL otherwise keeps as long as the connection.
  func dropStaple() { SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_STATUS_REQ_OCSP_RESP, 0, nil) }

  func describeVerifiedChain() -> [CertificateDescription] {
    let chain = verifiedChain
    return chain.indices.compactMap { index in
      let certificate = chain[index]
      let isAnchor = index == chain.count - 1 && certificate.isSelfSigned
      return CertificateDescription(certificate, role: index == 0 ? .leaf : isAnchor ? .root : .intermediate)
    }
  }

  /// Returns the session, which the next handshake can offer. Only for versions before TLS 1.3.
  func session(with verdict: SessionVerdict) -> CachedSession? {
    // A TLS 1.3 session cannot be resumed without a ticket, which the server sends after the handshake.
    SSL_get1_session(ssl).map { CachedSession(owning: $0, verdict: verdict) }
  }
}

private func isPrepared(_ ssl: OpaquePointer, offering session: CachedSession?, state: ConnectionState) -> Bool {
  guard
    SSL_set_ex_data(ssl, 0, Unmanaged.passUnretained(state).toOpaque()) == 1,
    let bio = CiphertextBIO.make(state)
  else { return false }
  SSL_set_bio(ssl, bio, bio)
  SSL_set_connect_state(ssl)
  // RFC 6066 section 3: no address in SNI
  if case .name(let name) = state.origin.host, bearerd_SSL_set_server_name(ssl, name) != 1 { return false }
  guard let session else { return true }
  return SSL_set_session(ssl, session.pointer) == 1
}

@inline(__always)
func clearErrors() {
  // ERR_clear_error is more expensive than a look at an empty queue.
  if ERR_peek_error() != 0 { ERR_clear_error() }
}
