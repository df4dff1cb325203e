internal import Policy

/// The part of a connection that OpenSSL's callbacks use.
final class ConnectionState {
  // A class, because C holds its address. The callbacks use no other part of the connection, so they cannot conflict
  // with a `mutating` call.

  let origin: Origin
  /// The protocols that the handshake offers.
  let protocols: [ApplicationProtocol]
  let sink: CiphertextSink
  let sessions: SessionCache
  /// The cache's epoch when this connection began, a number that `SessionCache.removeAll` increments.
  let epoch: UInt64
  /// The result of verification; `nil` until `Handshake.verified` succeeds.
  var verdict: SessionVerdict?
  /// Which certificate failed verification and why, and what to do.
  var rejectedCertificate: String?
  /// Whether the upstream's certificate is itself in the trust store. Nothing then vouches for the issuer in the chain.
  var leafIsAnchor = true
  /// When the first revocation list that was used expires, in seconds since 1970; `nil` if none was used.
  var listsEnd: Int64?
  let presentedCertificate: PresentedCertificate?
  /// `nil` if nothing needs the certificates after a failure.
  let evidence: EvidenceRecorder?
  /// The error because of which a callback of OpenSSL ended the handshake.
  var callbackError: TLSError?
  /// Whether the upstream requested a client certificate during the handshake.
  var isAskedForCertificate = false
  /// Whether the upstream requested renegotiation, which OpenSSL refused.
  var hasRefusedRenegotiation = false
  /// The first bytes from the upstream.
  private(set) var greeting = Greeting()

  /// The part of the current input that OpenSSL has not read yet.
  private var window = UnsafeBufferPointer<UInt8>(start: nil, count: 0)
  /// Unread bytes of earlier input, which are read first.
  private var pending: [UInt8] = []
  private var pendingStart = 0
  private var hasPending = false

  init(
    origin: Origin, protocols: [ApplicationProtocol], sink: CiphertextSink, sessions: SessionCache,
    presenting: PresentedCertificate? = nil, evidence: EvidenceRecorder? = nil
  ) {
    self.origin = origin
    self.protocols = protocols
    self.sink = sink
    self.sessions = sessions
    self.presentedCertificate = presenting
    self.evidence = evidence
    epoch = sessions.epoch
  }

  var unreadCount: Int { (hasPending ? pending.count &- pendingStart : 0) &+ window.count }

  /// Call this with all input of the handshake.
  func receive(_ input: Span<UInt8>) { greeting.append(input) }

  /// Lends `input` to OpenSSL during `body`, and stores the bytes that were not read.
  func lending<Result>(_ input: Span<UInt8>, _ body: () throws(TLSError) -> Result) throws(TLSError) -> Result {
    try input.withUnsafeBufferPointer { (input) throws(TLSError) in
      window = input
      defer {
        if !window.isEmpty {
          pending.append(contentsOf: window)
          hasPending = true
        }
        window = UnsafeBufferPointer(start: nil, count: 0)
      }
      return try body()
    }
  }

  /// Copies at most `count` unread bytes to `target`, and returns their number.
  func read(into target: UnsafeMutableRawPointer, count: Int) -> Int {
    guard !hasPending else { return readPending(into: target, count: count) }
    let copied = min(count, window.count)
    guard copied > 0, let start = window.baseAddress else { return 0 }
    target.copyMemory(from: start, byteCount: copied)
    window = UnsafeBufferPointer(rebasing: window.dropFirst(copied))
    return copied
  }

  private func readPending(into target: UnsafeMutableRawPointer, count: Int) -> Int {
    let copied = min(count, pending.count - pendingStart)
    pending.withUnsafeBytes { pending in
      guard let start = pending.baseAddress else { return }
      target.copyMemory(from: start + pendingStart, byteCount: copied)
    }
    pendingStart += copied
    if pendingStart == pending.count {
      pending = []
      pendingStart = 0
      hasPending = false
    }
    return copied
  }
}
