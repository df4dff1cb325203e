internal import EventLoop
internal import TLS

/// How it stands just now.
extension UpstreamSession {
  /// Whether what the handshake proved still holds; seconds since 1970. Where nothing had to be proved: always.
  func isProved(at now: Int64) -> Bool { proof?.validity.contains(now) ?? true }

  var queuedBytes: Int { stream.queuedBytes }
}
