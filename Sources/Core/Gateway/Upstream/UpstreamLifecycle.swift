package import Policy

/// The state machine of one connection to an upstream. A run is a request that uses the connection, until its response
/// is complete. Each event returns a step for the worker.
package struct UpstreamLifecycle: Sendable {
  package enum Phase: Sendable {
    /// The TLS handshake is in progress.
    case handshaking
    case open
    /// The upstream has announced that it will send nothing more.
    case ending
    case closed
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
    /// The connection has no run. Remove the connection from the pool and close it.
    case discard
    /// Report the end to all runs.
    case reportEnd(isClean: Bool)
    /// Close the connection, and report the failure to all runs.
    case fail(RefusalCode, String)
  }

  package private(set) var phase: Phase
  /// Number of runs in progress.
  package private(set) var runs = 0
  /// Maximum number of runs at the same time. HTTP/1 has one run at a time.
  package private(set) var maximumRuns = 1
  private var refusesRuns = false
  /// Whether one client has logged in on the connection (RFC 4559 section 5), which never returns to the pool.
  package private(set) var isDedicated = false
  package private(set) var hasCarriedCredential = false
  private let isTLS: Bool
  /// Whether bytes can arrive that belong to no run, as in HTTP/2.
  private var isMultiplexed = false
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

  /// Whether another run can begin on the connection, in addition to those in progress.
  package var hasRoom: Bool {
    runs < maximumRuns && phase == .open && !hasFailedWrite && !refusesRuns && !isDedicated
  }

  /// Whether the connection, which has no run, can be kept for another run.
  /// - Parameter queuedBytes: bytes that are not sent yet.
  package func isUsable(isWritable: Bool, queuedBytes: Int) -> Bool {
    phase == .open && !hasFailedWrite && !refusesRuns && maximumRuns > 0 && isWritable && queuedBytes == 0
  }

  // MARK: events from TLS

  /// Opens the connection. Fails it if the upstream closed TLS, or sent `early` plaintext before any HTTP/1 request (T26).
  package mutating func opened(_ applicationProtocol: ApplicationProtocol, early: Span<UInt8>, isEnd: Bool) -> Step {
    phase = .open
    isMultiplexed = applicationProtocol == .http2
    if early.isEmpty || isMultiplexed, !isEnd { return .ready }
    // RFC 9113 section 3.4: an HTTP/2 server sends SETTINGS first.
    let isHTTP2 = early.count > 3 && early[0] == 0 && early[3] == 4
    return .fail(
      .handshakeFailed,
      isHTTP2
        ? "the upstream sends HTTP/2 without having selected it in the TLS handshake: delete protocol: http1 if the service "
          + "has it, or let the upstream's operator turn on ALPN for HTTP/2 (h2)"
        : "the upstream sent data or closed the connection before the request")
  }

  package mutating func decrypted(count: Int, isEnd: Bool, queuedBytes: Int) -> Step {
    if isEnd { phase = .ending }
    if queuedBytes > UpstreamLifecycle.maximumQueue {
      return .fail(.upstreamMalformed, "the upstream causes TLS replies and does not read them")
    }
    if count == 0 { return .nothing }
    return deliver
  }

  private var deliver: Step { runs == 0 && !isMultiplexed ? .discard : .deliver }

  /// Call this after received plaintext was delivered.
  package mutating func delivered() -> Step { phase == .ending ? end(isClean: true) : .nothing }

  package mutating func writeFailed() { hasFailedWrite = true }

  // MARK: events from the stream and the timer

  package mutating func received() -> Step {
    switch phase {
    case .handshaking: .advanceHandshake
    case .open: isTLS ? .decrypt : deliver
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
    if phase == .handshaking { return .fail(.handshakeTimeout, "the handshake did not finish in time") }
    return runs == 0 ? .discard : .nothing
  }

  private mutating func end(isClean: Bool) -> Step {
    phase = .ending
    return runs == 0 ? .discard : .reportEnd(isClean: isClean)
  }

  // MARK: events from the connection's users

  package mutating func carriedCredential() { hasCarriedCredential = true }
  package mutating func dedicate() { isDedicated = true }
  package mutating func runBegan() { runs &+= 1 }
  package mutating func runEnded() { runs &-= 1 }

  /// Sets how many runs the upstream accepts at the same time. Runs in progress beyond `count` continue.
  package mutating func limitRuns(to count: Int) { maximumRuns = count }

  /// The upstream accepts no further run. The runs in progress continue.
  package mutating func refuseRuns() { refusesRuns = true }

  /// Closes the connection. Returns `false` if it was already closed.
  package mutating func close() -> Bool {
    if phase == .closed { return false }
    phase = .closed
    return true
  }
}
