/// The state machine of one connection to an upstream. Each event returns a step for the worker.
package struct UpstreamLifecycle: Sendable {
  package enum Phase: Sendable {
    /// The TLS handshake is in progress.
    case handshaking
    case open
    /// The upstream has announced that it will send nothing more.
    case ending
    case closed
  }

  package enum Use: Sendable {
    /// One exchange uses the connection, or the connector is opening it.
    case exchange
    /// One client has logged in on the connection (RFC 4559 section 5), which never returns to the pool.
    case login
    /// The connection is in its pool.
    case idle
  }

  /// The step that the worker carries out after an event.
  package enum Step: Sendable, Equatable {
    case nothing
    case advanceHandshake
    /// The connection ended during the handshake.
    case failHandshake
    case ready
    case decrypt
    case deliver
    /// Remove the connection from the pool and close it.
    case discard
    case reportEnd(isClean: Bool)
    case fail(RefusalCode, String)
  }

  package private(set) var phase: Phase
  package private(set) var use = Use.exchange
  package private(set) var hasCarriedCredential = false
  private let isTLS: Bool
  private var hasFailedWrite = false

  /// Maximum length of the send queue, in bytes. Beyond it, the connection fails.
  package static let maximumQueue = 4 << 20

  package init(isTLS: Bool) {
    self.isTLS = isTLS
    phase = isTLS ? .handshaking : .open
  }

  /// Whether the TLS handshake has verified the upstream, and the connection is not closed. Always `false` without TLS.
  @inline(__always) package var isVerified: Bool { isTLS && (phase == .open || phase == .ending) }

  package var mayWrite: Bool { phase != .closed && !hasFailedWrite }

  /// Whether the connection can carry another exchange.
  /// - Parameter queuedBytes: bytes that are not sent yet.
  package func isUsable(isWritable: Bool, queuedBytes: Int) -> Bool {
    phase == .open && !hasFailedWrite && isWritable && queuedBytes == 0
  }

  // MARK: events from TLS

  /// Opens the connection. Fails it if the upstream sent `early` plaintext before any request, or closed TLS (T26).
  package mutating func handshakeFinished(early: Span<UInt8>, isEnd: Bool) -> Step {
    phase = .open
    if early.isEmpty, !isEnd { return .ready }
    // RFC 9113 section 3.4: an HTTP/2 server sends SETTINGS first.
    let isHTTP2 = early.count > 3 && early[0] == 0 && early[3] == 4
    return .fail(
      .handshakeFailed,
      isHTTP2
        ? "the upstream sends HTTP/2, and bearerd supports only HTTP/1.1"
        : "the upstream sent data or closed the connection before the request")
  }

  package mutating func decrypted(count: Int, isEnd: Bool, queuedBytes: Int) -> Step {
    if isEnd { phase = .ending }
    if queuedBytes > UpstreamLifecycle.maximumQueue {
      return .fail(.upstreamMalformed, "the upstream causes TLS replies and does not read them")
    }
    if count == 0 { return .nothing }
    return use == .idle ? .discard : .deliver
  }

  /// Call this after received plaintext was delivered.
  package mutating func delivered() -> Step { phase == .ending ? end(isClean: true) : .nothing }

  package mutating func writeFailed() { hasFailedWrite = true }

  // MARK: events from the stream and the timer

  package mutating func received() -> Step {
    switch phase {
    case .handshaking: .advanceHandshake
    case .open: isTLS ? .decrypt : use == .idle ? .discard : .deliver
    // Ignore data after the end (RFC 8446 section 6.1).
    case .ending, .closed: .nothing
    }
  }

  package mutating func streamEnded() -> Step {
    switch phase {
    case .handshaking: .failHandshake
    // Without TLS, the end of the stream is a clean end.
    case .open: end(isClean: !isTLS)
    case .ending, .closed: .nothing
    }
  }

  package func streamFailed(_ detail: String) -> Step {
    .fail(phase == .handshaking ? .handshakeFailed : .upstreamClosed, detail)
  }

  package func deadlinePassed() -> Step {
    phase == .handshaking ? .fail(.handshakeTimeout, "the handshake did not finish in time") : .discard
  }

  private mutating func end(isClean: Bool) -> Step {
    phase = .ending
    return use == .idle ? .discard : .reportEnd(isClean: isClean)
  }

  // MARK: events from the connection's users

  package mutating func carriedCredential() { hasCarriedCredential = true }
  package mutating func dedicate() { use = .login }
  package mutating func release() { use = .idle }
  package mutating func acquire() { if use == .idle { use = .exchange } }

  /// Closes the connection. Returns `false` if it was already closed.
  package mutating func close() -> Bool {
    if phase == .closed { return false }
    phase = .closed
    return true
  }
}
