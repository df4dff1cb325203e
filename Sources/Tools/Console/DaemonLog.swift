internal import Glibc
package import System

/// Lines from a pipe, until a signal interrupts.
package final class DaemonLog {
  private let descriptor: Int32
  private let signals: SignalDescriptor
  private var pending: [UInt8] = []

  package init(descriptor: Int32, signals: consuming SignalDescriptor) {
    self.descriptor = descriptor
    self.signals = signals
  }

  /// nil: none came within `patience` milliseconds (-1: any time), or the program has ended.
  package func next(patience: Int32) throws -> String? {
    while true {
      if let end = pending.firstIndex(of: UInt8(ascii: "\n")) {
        defer { pending.removeFirst(end + 1) }
        return String(decoding: pending[..<end], as: UTF8.self).harmless
      }
      var waiting = [signals.descriptor, descriptor].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      let count = poll(&waiting, 2, patience)
      if waiting[0].revents != 0, let signal = signals.next() { throw Interruption(signal: signal) }
      if count == 0 { return nil }
      if waiting[1].revents != 0, try !fill() { return nil }
    }
  }

  /// False: nothing will come.
  private func fill() throws -> Bool {
    var bytes = [UInt8](repeating: 0, count: 16_384)
    let count = read(descriptor, &bytes, bytes.count)
    if count > 0 { pending += bytes.prefix(count) }
    return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR))
  }
}
