internal import CLinux
internal import Glibc

/// Asks file systems in another process: one that waits for a file system that has gone cannot be ended, not even by SIGKILL,
/// nor can a process of which a thread waits. A daemon does not mind; a program that is to end leaves the other process behind.
package enum WaitingProcess {
  /// The lines that `work` has said, and whether it was still at it when the time was over. nil: the system has no process for
  /// it, or it broke off.
  ///
  /// Only for a process that has no other thread. `work` finds no descriptors but its own, and may not count on being ended.
  package static func lines(
    milliseconds: Int, _ work: (_ say: @escaping @Sendable (String) -> Void) -> Void
  ) -> (lines: [String], isLate: Bool)? {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return nil }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let child = bearerd_fork_writer(ends[1])
    if child == 0 {
      for _ in 0..<3 { _ = open("/dev/null", O_RDWR) }
      work { say($0) }
      say(end)
      _exit(0)
    }
    close(ends[1])
    defer { close(ends[0]) }
    guard child > 0 else { return nil }
    let (lines, isLate) = read(ends[0], milliseconds: milliseconds)
    kill(child, SIGKILL)
    // One that waits for a file is not waited for: it goes when it can.
    for _ in 0..<patience where waitpid(child, nil, WNOHANG) == 0 { usleep(1_000) }
    return isLate || lines.last == end ? (lines.filter { $0 != end }, isLate) : nil
  }

  private static let end = "end"
  /// Milliseconds for the end of one that was killed.
  private static let patience = 100

  private static func say(_ line: String) {
    let bytes = Array("\(line)\0".utf8)
    var done = 0
    while done < bytes.count {
      let count = retrying { bytes.withUnsafeBytes { write(3, $0.baseAddress?.advanced(by: done), $0.count - done) } }
      guard count > 0 else { _exit(1) }
      done += count
    }
  }

  /// Until its last line, its end, or the time is over.
  private static func read(_ descriptor: Int32, milliseconds: Int) -> (lines: [String], isLate: Bool) {
    var (bytes, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 65_536))
    let last = Array("\0\(end)\0".utf8)
    let deadline = Clock.monotonicMicroseconds + UInt64(milliseconds) * 1_000
    var isLate = false
    while true {
      let now = Clock.monotonicMicroseconds
      isLate = now >= deadline
      if isLate { break }
      var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      if poll(&entry, 1, Int32(clamping: (deadline - now) / 1_000 + 1)) <= 0 { continue }
      let count = retrying { Glibc.read(descriptor, &buffer, buffer.count) }
      guard count > 0 else { break }
      bytes += buffer[..<count]
      if bytes.suffix(last.count) == last[...] || bytes == Array(last.dropFirst()) { break }
    }
    // The text behind the last end of a line is cut off.
    let lines = bytes.split(separator: 0, omittingEmptySubsequences: false).dropLast()
    return (lines.map { String(decoding: $0, as: UTF8.self) }, isLate)
  }
}
