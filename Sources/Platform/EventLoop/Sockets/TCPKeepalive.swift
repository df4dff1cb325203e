internal import CLibuv
internal import Glibc

/// TCP keep-alive (RFC 9293 section 3.8.4): after how long a silent peer is asked whether it still lives, and when it is given
/// up. A peer that only says nothing keeps its connection.
package struct TCPKeepalive: Sendable, Equatable {
  /// Seconds of silence before the first probe.
  package let idle: Int32
  /// Seconds between two probes.
  package let interval: Int32
  /// Number of probes without a response after which the connection fails.
  package let probes: Int32

  /// The most that Linux takes of seconds, and of probes.
  private static let mostSeconds: Int32 = 32_767
  private static let mostProbes: Int32 = 127

  /// Creates settings; values outside Linux's bounds become the nearest ones within.
  package init(idle: Int32, interval: Int32, probes: Int32) {
    self.idle = min(max(1, idle), Self.mostSeconds)
    self.interval = min(max(1, interval), Self.mostSeconds)
    self.probes = min(max(1, probes), Self.mostProbes)
  }

  /// Sets a TCP socket to this, or to no probes. A listening socket passes its settings on to each connection. Failures do
  /// not count: a socket that cannot be set is about to fail by itself.
  static func set(_ keepalive: TCPKeepalive?, on descriptor: Int32) {
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
  /// Sets TCP keep-alive; nothing on a Unix stream, and nothing before there is a socket.
  package func setKeepalive(_ keepalive: TCPKeepalive?) {
    if !isUnix { TCPKeepalive.set(keepalive, on: descriptor) }
  }
}

extension Listener {
  /// Sets TCP keep-alive for the connections that are accepted from now on; nothing on a Unix socket.
  package func setKeepalive(_ keepalive: TCPKeepalive?) {
    if !isUnix, !isClosed { TCPKeepalive.set(keepalive, on: descriptor) }
  }
}
