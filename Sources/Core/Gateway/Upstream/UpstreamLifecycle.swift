/// One connection to an upstream, from the first byte of its handshake to its end: each event says what is to be done. No
/// socket, no TLS, no clock.
package struct UpstreamLifecycle: Sendable {
  package enum Phase: Sendable {
    /// TLS is being negotiated; a connection in clear text skips this.
    case handshaking
    case open
    /// The upstream has said that it will send nothing more.
    case ending
    case closed
  }

  /// Whom it serves.
  package enum Use: Sendable {
    /// A connector, or one exchange after the other.
    case exchange
    /// One client alone, who has logged in on it (RFC 4559 section 5): it goes into no pool.
    case login
    /// No one: it waits in its pool.
    case idle
  }

  /// One thing that the shell is to do with the connection and with the bytes of the event.
  package enum Step: Sendable, Equatable {
    case nothing
    case advanceHandshake
    /// The handshake ended in the middle: the TLS library says how.
    case failHandshake
    case ready
    case decrypt
    case deliver
    /// Take it out of the pool and close it.
    case discard
    case reportEnd(isClean: Bool)
    /// Close it and report this.
    case fail(RefusalCode, String)
  }

  package private(set) var phase: Phase
  package private(set) var use = Use.exchange
  /// A credential has gone out on it.
  package private(set) var hasCarriedCredential = false
  private let isTLS: Bool
  private var hasFailedWrite = false

  /// Bytes that wait to be sent. Only answers to a flood of TLS messages grow like this.
  package static let maximumQueue = 4 << 20

  package init(isTLS: Bool) {
    self.isTLS = isTLS
    phase = isTLS ? .handshaking : .open
  }

  /// TLS is established, and what it verified still stands for this connection.
  @inline(__always) package var isVerified: Bool { isTLS && (phase == .open || phase == .ending) }

  package var mayWrite: Bool { phase != .closed && !hasFailedWrite }

  /// Whether it can carry another exchange.
  /// - Parameter queuedBytes: bytes that wait to be sent.
  package func isUsable(isWritable: Bool, queuedBytes: Int) -> Bool {
    phase == .open && !hasFailedWrite && isWritable && queuedBytes == 0
  }

  // MARK: what TLS says

  /// - Parameters:
  ///   - early: plaintext that came with the end of the handshake, before anything was asked (T26).
  ///   - isEnd: the upstream has closed TLS as well.
  package mutating func handshakeFinished(early: Span<UInt8>, isEnd: Bool) -> Step {
    phase = .open
    if early.isEmpty, !isEnd { return .ready }
    // RFC 9113 section 3.4: a server's SETTINGS come first.
    let isHTTP2 = early.count > 3 && early[0] == 0 && early[3] == 4
    return .fail(
      .handshakeFailed,
      isHTTP2
        ? "the upstream sends HTTP/2, and bearerd supports only HTTP/1.1"
        : "the upstream sent data or closed the connection before the request")
  }

  /// The plaintext of what `decrypt` was asked for.
  package mutating func decrypted(count: Int, isEnd: Bool, queuedBytes: Int) -> Step {
    if isEnd { phase = .ending }
    if queuedBytes > UpstreamLifecycle.maximumQueue {
      return .fail(.upstreamMalformed, "the upstream causes TLS replies and does not read them")
    }
    if count == 0 { return .nothing }
    return use == .idle ? .discard : .deliver
  }

  /// The plaintext was delivered: whether the end came with it.
  package mutating func delivered() -> Step { phase == .ending ? end(isClean: true) : .nothing }

  package mutating func writeFailed() { hasFailedWrite = true }

  // MARK: what the stream and the clock say

  package mutating func received() -> Step {
    switch phase {
    case .handshaking: .advanceHandshake
    case .open: isTLS ? .decrypt : use == .idle ? .discard : .deliver
    // Nothing counts that comes behind its end (RFC 8446 section 6.1).
    case .ending, .closed: .nothing
    }
  }

  package mutating func streamEnded() -> Step {
    switch phase {
    case .handshaking: .failHandshake
    // Without TLS the end of the stream is all that there is to say.
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

  // MARK: what its users do

  package mutating func carriedCredential() { hasCarriedCredential = true }
  package mutating func dedicate() { use = .login }
  package mutating func release() { use = .idle }
  package mutating func take() { if use == .idle { use = .exchange } }

  /// False: it was closed before.
  package mutating func close() -> Bool {
    if phase == .closed { return false }
    phase = .closed
    return true
  }
}
