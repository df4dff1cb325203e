internal import COpenSSL
internal import Policy

/// The one owner of an SSL: ciphertext in and out, no socket. Knows nothing of what may be sent when; its stages do.
struct TLSConnection: ~Copyable {
  private let ssl: OpaquePointer  // SSL
  let state: ConnectionState

  init(context: OpaquePointer, offering session: KeptSession?, state: ConnectionState) throws(TLSError) {
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
    // Otherwise OpenSSL takes an end without close_notify for an attack and the session for unusable. It says nothing
    // to the peer.
    SSL_set_shutdown(ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN)
    SSL_free(ssl)
  }

  static func state(of ssl: OpaquePointer) -> ConnectionState? {
    SSL_get_ex_data(ssl, 0).map { Unmanaged.fromOpaque($0).takeUnretainedValue() }
  }

  func keepBuffers() { SSL_ctrl(ssl, SSL_CTRL_CLEAR_MODE, Int(SSL_MODE_RELEASE_BUFFERS), nil) }

  /// True when the handshake is finished. What comes after it is kept for `read`.
  mutating func handshake(_ input: Span<UInt8>) throws(TLSError) -> Bool {
    try state.lending(input) { () throws(TLSError) in
      guard !isFinished else { return true }
      ERR_clear_error()
      let status = SSL_do_handshake(ssl)
      if status == 1 { return true }
      guard SSL_get_error(ssl, status) == SSL_ERROR_WANT_READ else { throw handshakeError() }
      return false
    }
  }

  private func handshakeError() -> TLSError {
    if let refused = state.refused {
      ERR_clear_error()
      return refused
    }
    let verdict = SSL_get_verify_result(ssl)
    guard verdict == Int(X509_V_OK) else {
      ERR_clear_error()
      return .verification(verdict, wanted: state.origin.host.description, seen: state.rejected)
    }
    return .protocolError("handshake with \(state.origin.host)")
  }

  /// True when close_notify came.
  mutating func read(_ input: Span<UInt8>, into plaintext: inout [UInt8]) throws(TLSError) -> Bool {
    // Plaintext is never longer than its ciphertext; one record may have come in part before
    let room = input.count &+ state.waiting &+ Int(SSL3_RT_MAX_PLAIN_LENGTH)
    var isClosed = false
    try state.lending(input) { () throws(TLSError) in
      try plaintext.append(addingCapacity: room) { (output: inout OutputSpan<UInt8>) throws(TLSError) in
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
        // Saves the call that would only say "wants more"
        if state.waiting == 0, SSL_has_pending(ssl) == 0 { return false }
        continue
      }
      switch SSL_get_error(ssl, status) {
      case SSL_ERROR_WANT_READ: return false
      case SSL_ERROR_ZERO_RETURN: return true
      default: throw .protocolError("reading from \(state.origin.host)")
      }
    }
    return false
  }

  /// All of it, at most 16 KiB to a record.
  mutating func write(_ bytes: UnsafeRawBufferPointer) throws(TLSError) {
    guard var position = bytes.baseAddress else { return }
    var rest = bytes.count
    let isLong = rest > Int(SSL3_RT_MAX_PLAIN_LENGTH)
    if isLong { state.sink.gather() }
    defer { if isLong { state.sink.flush() } }
    // The sink takes everything, so that a failure is one whatever the error queue says; and a call that leaves something in that
    // queue clears it.
    while rest > 0 {
      var written = 0
      guard SSL_write_ex(ssl, position, rest, &written) == 1, written > 0 else {
        throw .protocolError("writing to \(state.origin.host)")
      }
      position += written
      rest -= written
    }
  }

  /// Gives the buffers back that hold a record each. A write does so by itself, but tickets that are read make room for a
  /// write that may never come.
  mutating func rest() {
    SSL_free_buffers(ssl)
  }

  /// close_notify, once, if the protocol has come so far.
  mutating func close() {
    ERR_clear_error()
    guard SSL_in_init(ssl) == 0, SSL_get_shutdown(ssl) & SSL_SENT_SHUTDOWN == 0 else { return }
    SSL_shutdown(ssl)
    ERR_clear_error()
  }
}

/// Does as ERR_clear_error, but a queue that is empty is only looked at: to clear it costs more than to fill it.
@inline(__always)
func clearErrors() {
  if ERR_peek_error() != 0 { ERR_clear_error() }
}

/// Facts that a finished handshake shows.
extension TLSConnection {
  var isFinished: Bool { SSL_is_init_finished(ssl) == 1 }
  var isResumed: Bool { SSL_session_reused(ssl) == 1 }
  var chainVerdict: Int { SSL_get_verify_result(ssl) }
  var isSingleUseProtocol: Bool { SSL_version(ssl) >= TLS1_3_VERSION }

  /// The server chose no application protocol, or ours.
  var isProtocolOurs: Bool {
    var name: UnsafePointer<UInt8>?
    var length: UInt32 = 0
    SSL_get0_alpn_selected(ssl, &name, &length)
    return UnsafeBufferPointer(start: name, count: Int(length)).elementsEqual(alpn.utf8) || length == 0
  }

  var leaf: CertificateView? {
    SSL_get0_peer_certificate(ssl).map { CertificateView(pointer: $0) }
  }

  /// As verified, leaf first, anchor last; never as sent (T22). Empty on a resumed session.
  var verifiedChain: [CertificateView] { Self.verifiedChain(of: ssl) }

  static func verifiedChain(of ssl: OpaquePointer) -> [CertificateView] {
    guard let chain = SSL_get0_verified_chain(ssl) else { return [] }
    return (0..<bearerd_sk_X509_num(chain)).compactMap { index in
      bearerd_sk_X509_value(chain, index).map { CertificateView(pointer: $0) }
    }
  }

  func describeVerifiedChain() -> [CertificateDescription] {
    let chain = verifiedChain
    return chain.indices.compactMap { index in
      let certificate = chain[index]
      let isAnchor = index == chain.count - 1 && certificate.isSelfSigned
      return CertificateDescription(certificate, role: index == 0 ? .leaf : isAnchor ? .root : .intermediate)
    }
  }

  /// The session to offer next time, for protocols that have it at the end of the handshake (TLS 1.2).
  func session(with verdict: SessionVerdict) -> KeptSession? {
    SSL_get1_session(ssl).map { KeptSession(owning: $0, verdict: verdict) }
  }
}

private func isPrepared(_ ssl: OpaquePointer, offering session: KeptSession?, state: ConnectionState) -> Bool {
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
