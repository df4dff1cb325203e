internal import CLibuv
internal import Glibc

/// TCP keep-alive settings (RFC 9293 section 3.8.4).
package struct TCPKeepalive: Sendable, Equatable {
  /// Seconds of silence before the first probe.
  package let idle: Int32
  /// Seconds between two probes.
  package let interval: Int32
  /// Number of probes without a response after which the connection fails.
  package let probes: Int32

  private static let maximumSeconds: Int32 = 32_767
  private static let maximumProbes: Int32 = 127

  /// Creates settings. Each value is clamped to the range that Linux accepts.
  package init(idle: Int32, interval: Int32, probes: Int32) {
    self.idle = min(max(1, idle), Self.maximumSeconds)
    self.interval = min(max(1, interval), Self.maximumSeconds)
    self.probes = min(max(1, probes), Self.maximumProbes)
  }

  /// Applies settings to a TCP socket, which accepted connections inherit; `nil` disables keep-alive.
  static func set(_ keepalive: TCPKeepalive?, on descriptor: Int32) {
    // Ignores errors: a socket on which this fails is about to fail anyway.
    guard descriptor >= 0 else { return }
    func set(_ level: CInt, _ name: CInt, _ value: CInt) {
      var value = value
      _ = setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout<CInt>.size))
    }
    if let keepalive {
      set(CInt(IPPROTO_TCP), TCP_KEEPIDLE, keepalive.idle)
      set(CInt(IPPROTO_TCP), TCP_KEEPINTVL, keepalive.interval)
      set(CInt(IPPROTO_TCP), TCP_KEEPCNT, keepalive.probes)
    }
    set(SOL_SOCKET, SO_KEEPALIVE, keepalive == nil ? 0 : 1)
  }
}

extension Stream {
  /// Sets TCP keep-alive. Does nothing on a Unix stream, or before the socket exists.
  package func setKeepalive(_ keepalive: TCPKeepalive?) {
    if !isUnix { TCPKeepalive.set(keepalive, on: descriptor) }
  }
}

extension Listener {
  /// Sets TCP keep-alive for future connections. Does nothing on a Unix socket.
  package func setKeepalive(_ keepalive: TCPKeepalive?) {
    if !isUnix, !isClosed { TCPKeepalive.set(keepalive, on: descriptor) }
  }
}
