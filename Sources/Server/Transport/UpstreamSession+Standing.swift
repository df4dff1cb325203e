internal import EventLoop
internal import TLS

/// How it stands just now.
extension UpstreamSession {
  /// Whether what the handshake proved still holds; seconds since 1970. Where nothing had to be proved: always.
  func isProved(at now: Int64) -> Bool { proof?.validity.contains(now) ?? true }

  package var queuedBytes: Int { stream.queuedBytes }

  /// Between requests, but not among the idle ones. False: it is of no further use.
  func rest(with owner: any UpstreamSessionOwner) -> Bool {
    guard isOfUse, !destination.isRetired else { return false }
    hand(to: owner)
    setReading(true)
    context.deadlines.schedule(self, at: context.loop.now + context.idleConnections.time)
    return true
  }
}
