internal import COpenSSL
internal import Glibc

/// An accepted connection, for its handler's thread only. Calls block, and throw after 10 seconds without progress.
package final class AcceptedConnection {
  package let number: Int
  private let descriptor: Int32
  private let ssl: OpaquePointer?  // SSL; `nil` without TLS
  private let ticket: Tickets.Owner
  /// Changes the record of this connection.
  let record: ((inout UpstreamServer.Record) -> Void) -> Void
  private var isClosed = false
  private var isReset = false
  /// Whether the handler records the requests, because the bytes are HTTP/2 frames.
  var usesHTTP2 = false
  /// Received bytes that `readRequest` has not used yet.
  var pending: [UInt8] = []

  init(
    number: Int, descriptor: Int32, context: ServerContext?,
    record: @escaping ((inout UpstreamServer.Record) -> Void) -> Void
  ) {
    self.number = number
    self.descriptor = descriptor
    self.record = record
    ssl = context.flatMap { SSL_new($0.pointer) }
    ticket = Tickets.Owner(number: number)
    if let ssl {
      SSL_set_fd(ssl, descriptor)
      ticket.attach(to: ssl)
    }
  }

  deinit { if let ssl { SSL_free(ssl) } }

  /// Performs the TLS handshake, if the server uses TLS, and returns whether it succeeded.
  func handshake() -> Bool {
    guard let ssl else { return true }
    ERR_clear_error()
    let isDone = SSL_accept(ssl) == 1
    record { record in
      record.serverName = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name).map { String(cString: $0) }
      record.handshakeCompleted = isDone
      record.clientName = SSL_get0_peer_certificate(ssl).flatMap { commonName(of: $0) }
      guard isDone else { return }
      record.isResumed = SSL_session_reused(ssl) == 1
      record.resumedFrom = record.isResumed ? ticket.source : nil
      record.version = String(cString: SSL_get_version(ssl))
      record.applicationProtocol = applicationProtocol
    }
    return isDone
  }

  var isTLS: Bool { ssl != nil }

  /// The protocol that the server has selected with ALPN; `nil` without a selection.
  package var applicationProtocol: String? {
    var name: UnsafePointer<UInt8>?
    var count: UInt32 = 0
    if let ssl { SSL_get0_alpn_selected(ssl, &name, &count) }
    return count == 0 ? nil : String(decoding: UnsafeBufferPointer(start: name, count: Int(count)), as: UTF8.self)
  }

  /// Whether data, or the end of the connection, arrives within this time.
  func hasInput(within milliseconds: Int32) -> Bool {
    if let ssl, SSL_has_pending(ssl) == 1 { return true }
    var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&waiting, 1, milliseconds) != 0
  }

  /// Waits for data, and returns at most `maximum` bytes; empty if the peer has closed the connection.
  package func read(maximum: Int = 65_536) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: max(1, maximum))
    let count: Int
    if let ssl {
      ERR_clear_error()
      let status = SSL_read(ssl, &bytes, Int32(clamping: bytes.count))
      let error = SSL_get_error(ssl, status)
      guard status > 0 || error == SSL_ERROR_ZERO_RETURN else { throw TestServerError.openSSL("SSL_read: \(error)") }
      count = Int(max(status, 0))
    } else {
      count = Glibc.recv(descriptor, &bytes, bytes.count, 0)
      guard count >= 0 else { throw TestServerError.system("recv") }
    }
    bytes.removeLast(bytes.count - count)
    if usesHTTP2 { record { $0.http2.bytes += bytes } } else { record { $0.bytes += bytes } }
    return bytes
  }

  package func write(_ bytes: [UInt8]) throws { try write(bytes, ssl) }

  /// Sends what `body` writes in one segment, if it fits.
  package func together(_ body: () throws -> Void) rethrows {
    func cork(_ value: Int32) {
      var value = value
      setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_CORK, &value, socklen_t(MemoryLayout<Int32>.size))
    }
    cork(1)
    defer { cork(0) }
    try body()
  }

  /// Sends bytes directly on the socket, without TLS.
  package func writeRaw(_ bytes: [UInt8]) throws { try write(bytes, nil) }

  private func write(_ bytes: [UInt8], _ ssl: OpaquePointer?) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      // One TLS record, so that `sentBytes` is exact while a write waits.
      let count = rest.prefix(16_384).withUnsafeBytes { rest in
        guard let ssl else { return Glibc.send(descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL)) }
        ERR_clear_error()
        return Int(SSL_write(ssl, rest.baseAddress, Int32(clamping: rest.count)))
      }
      guard count > 0 else { throw ssl == nil ? TestServerError.system("send") : .openSSL("SSL_write") }
      rest = rest.dropFirst(count)
      record { $0.sentBytes += count }
    }
  }

  /// Requests a client certificate after the handshake, like a server that requires the certificate only for some paths: by
  /// renegotiation in TLS 1.2, and by post-handshake authentication in TLS 1.3. Throws if the client has not announced
  /// post-handshake authentication (RFC 8446 section 4.2.6).
  package func requestCertificateLate() throws {
    guard let ssl else { return }
    ERR_clear_error()
    SSL_set_verify(ssl, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
    if SSL_version(ssl) == TLS1_3_VERSION {
      guard SSL_verify_client_post_handshake(ssl) == 1, SSL_do_handshake(ssl) == 1 else {
        throw TestServerError.openSSL("requesting post-handshake authentication")
      }
      return
    }
    guard SSL_renegotiate(ssl) == 1, SSL_do_handshake(ssl) == 1 else {
      throw TestServerError.openSSL("requesting renegotiation")
    }
  }

  /// Ends the TLS session and the sending direction. The connection can still receive.
  package func close() {
    guard !isClosed else { return }
    if let ssl {
      ERR_clear_error()
      SSL_shutdown(ssl)
    }
    closeWithoutNotify()
  }

  /// Ends only the sending direction without a TLS alert, like an attacker who truncates a response.
  package func closeWithoutNotify() {
    guard !isClosed else { return }
    isClosed = true
    shutdown(descriptor, Int32(SHUT_WR))
  }

  /// Makes the connection end with a reset when the handler returns.
  package func reset() {
    guard !isClosed else { return }
    isClosed = true
    isReset = true
    var now = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
    // The RST follows when the handler returns and the server closes the descriptor
  }

  /// Reads and records bytes until the peer closes the connection.
  func drain() {
    guard !isReset else { return }
    while let bytes = try? read(), !bytes.isEmpty {}
  }
}
