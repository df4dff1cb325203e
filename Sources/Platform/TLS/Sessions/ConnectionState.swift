internal import Policy

/// The part of one connection that OpenSSL's callbacks reach: where ciphertext comes from and goes to, and what was proved.
///
/// A class, because C holds its address. The callbacks touch nothing else, so no callback can meet a `mutating` call
/// that is under way.
final class ConnectionState {
  let origin: Origin
  let sink: CiphertextSink
  let sessions: SessionCache
  /// The epoch of the cache when this connection began: what was forgotten since takes no tickets of ours.
  let epoch: UInt64
  /// Set when `Handshake.verified` has said yes; sessions without it are not kept.
  var verdict: SessionVerdict?
  /// The reason why chain verification failed, for the error.
  var rejected: String?
  /// Our own certificate, if there is one.
  let shown: ShownCertificate?
  /// Why it was not shown, and the handshake ended.
  var refused: TLSError?

  /// The caller's input, borrowed for the length of one call; what OpenSSL has not taken yet.
  private var window = UnsafeBufferPointer<UInt8>(start: nil, count: 0)
  /// The rest of earlier input, first in line.
  private var aside: [UInt8] = []
  private var asideStart = 0
  /// Whether anything is left there: mostly nothing is, and no look is needed.
  private var hasAside = false

  init(origin: Origin, sink: CiphertextSink, sessions: SessionCache, shown: ShownCertificate? = nil) {
    self.origin = origin
    self.sink = sink
    self.sessions = sessions
    self.shown = shown
    epoch = sessions.epoch
  }

  var waiting: Int { (hasAside ? aside.count &- asideStart : 0) &+ window.count }

  /// Lends `input` to OpenSSL for `body`, and keeps what is not taken.
  func lending<Result>(_ input: Span<UInt8>, _ body: () throws(TLSError) -> Result) throws(TLSError) -> Result {
    try input.withUnsafeBufferPointer { (input) throws(TLSError) in
      window = input
      defer {
        if !window.isEmpty {
          aside.append(contentsOf: window)
          hasAside = true
        }
        window = UnsafeBufferPointer(start: nil, count: 0)
      }
      return try body()
    }
  }

  /// Moves at most `count` bytes; 0 when nothing is there.
  func take(into target: UnsafeMutableRawPointer, count: Int) -> Int {
    guard !hasAside else { return bufferInput(into: target, count: count) }
    let taken = min(count, window.count)
    guard taken > 0, let start = window.baseAddress else { return 0 }
    target.copyMemory(from: start, byteCount: taken)
    window = UnsafeBufferPointer(rebasing: window.dropFirst(taken))
    return taken
  }

  private func bufferInput(into target: UnsafeMutableRawPointer, count: Int) -> Int {
    let taken = min(count, aside.count - asideStart)
    aside.withUnsafeBytes { aside in
      guard let start = aside.baseAddress else { return }
      target.copyMemory(from: start + asideStart, byteCount: taken)
    }
    asideStart += taken
    if asideStart == aside.count {
      aside = []
      asideStart = 0
      hasAside = false
    }
    return taken
  }
}
