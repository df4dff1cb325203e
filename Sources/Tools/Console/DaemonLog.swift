internal import Glibc
package import System

/// Reads a daemon's log lines from its standard error.
package final class DaemonLog {
  private let descriptor: Int32
  private let signals: SignalDescriptor?
  private var pending: [UInt8] = []

  /// Reads from `descriptor`. Each of the `signals` interrupts reading.
  package init(descriptor: Int32, signals: SignalDescriptor? = nil) {
    self.descriptor = descriptor
    self.signals = signals
  }

  /// Returns the next line. `nil` after `timeout` milliseconds (-1 for no limit), or at the end of the log. Throws
  /// `Interruption` if a signal arrives.
  package func next(timeout: Int32) throws -> String? {
    while true {
      if let end = pending.firstIndex(of: UInt8(ascii: "\n")) {
        defer { pending.removeFirst(end + 1) }
        return String(decoding: pending[..<end], as: UTF8.self).harmless
      }
      // poll(2) ignores negative descriptors.
      var waiting = [signals?.descriptor ?? -1, descriptor].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      let count = poll(&waiting, 2, timeout)
      if waiting[0].revents != 0, let signal = signals?.next() { throw Interruption(signal: signal) }
      if count == 0 { return nil }
      if waiting[1].revents != 0, try !fill() { return nil }
    }
  }

  /// Reads bytes into `pending`, and returns `false` if no more bytes can arrive.
  private func fill() throws -> Bool {
    var bytes = [UInt8](repeating: 0, count: 16_384)
    let count = read(descriptor, &bytes, bytes.count)
    if count > 0 { pending += bytes.prefix(count) }
    return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR))
  }
}

extension StringProtocol {
  /// Returns the value of a field in a log line; `nil` if the line does not have the field.
  package func loggedValue(_ name: String) -> String? {
    split(separator: " ").first { $0.hasPrefix(name + "=") }.map { String($0.dropFirst(name.count + 1)) }
  }
}
