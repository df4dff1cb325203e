internal import CLinux
internal import Glibc

/// The protocols between systemd and its services, without libsystemd.
package enum ServiceManager {
  /// Sends a state such as `READY=1` to systemd, as sd_notify(3) does. Does nothing without $NOTIFY_SOCKET.
  package static func notify(_ state: String) {
    // vsock: is only for the init process of a virtual machine
    guard let name = environment("NOTIFY_SOCKET"),
      var address = try? name.hasPrefix("@")
        ? UnixAddress(abstractName: String(name.dropFirst())) : UnixAddress(path: name)
    else { return }
    let isReload = state.split(separator: "\n").contains("RELOADING=1")
    let message = Array((isReload ? "\(state)\nMONOTONIC_USEC=\(Clock.monotonicMicroseconds)" : state).utf8)
    let descriptor = bearerd_socket(AF_UNIX, 0)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    var timeout = timeval(tv_sec: 1, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
    _ = address.with { sockaddr, length in
      Int32(
        truncatingIfNeeded: retrying {
          sendto(descriptor, message, message.count, Int32(MSG_NOSIGNAL), sockaddr, length)
        })
    }
  }

  /// Milliseconds within which systemd expects `WATCHDOG=1`. `nil` if there is no watchdog. Send it twice per interval.
  package static var watchdogInterval: UInt64? {
    guard let text = environment("WATCHDOG_USEC"), let microseconds = UInt64(text), microseconds > 0 else { return nil }
    if let process = environment("WATCHDOG_PID"), process != "\(getpid())" { return nil }
    return max(1, microseconds / 1000)
  }

  /// Whether standard error is the journal's socket, which supports `<6>` prefixes.
  package static var isJournalStream: Bool {
    var status = stat()
    guard let stream = environment("JOURNAL_STREAM"), fstat(STDERR_FILENO, &status) == 0 else { return false }
    return stream == "\(status.st_dev):\(status.st_ino)"
  }

  /// Returns the sockets that systemd has passed to this process (sd_listen_fds(3)). Call this once, before any other
  /// process is started, because it removes the variables from the environment.
  /// - Parameter first: the first descriptor, SD_LISTEN_FDS_START.
  package static func inheritedSockets(first: Int32 = 3) -> [InheritedSocket] {
    let variables = ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"]
    let values = variables.map(environment)
    for name in variables { unsetenv(name) }
    guard values[0] == "\(getpid())", let count = values[1].flatMap({ Int32($0) }), count > 0, count < 1024 else {
      return []
    }
    let names = values[2]?.split(separator: ":", omittingEmptySubsequences: false) ?? []
    return (0..<count).compactMap { index in
      let descriptor = first + index
      guard fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 else { return nil }
      return InheritedSocket(
        name: Int(index) < names.count ? String(names[Int(index)]) : "unknown", descriptor: descriptor)
    }
  }
}
