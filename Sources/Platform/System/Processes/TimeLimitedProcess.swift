internal import CLinux
internal import Glibc

/// Runs file system calls in a child process, with a time limit.
package enum TimeLimitedProcess {
  /// Runs `work` in a child process. Returns the lines that `work` has reported, and whether the time limit has
  /// expired. `nil` if the child failed. Only for a process without other threads.
  package static func lines(
    milliseconds: Int, _ work: (_ report: @escaping @Sendable (String) -> Void) -> Void
  ) -> (lines: [String], isLate: Bool)? {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return nil }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let child = bearerd_fork_writer(ends[1])
    if child == 0 {
      for _ in 0..<3 { _ = open("/dev/null", O_RDWR) }
      work { writeLine($0) }
      writeLine(end)
      _exit(0)
    }
    close(ends[1])
    defer { close(ends[0]) }
    guard child > 0 else { return nil }
    let (lines, isLate) = read(ends[0], milliseconds: milliseconds)
    kill(child, SIGKILL)
    // A child that is blocked by a file system is left behind.
    for _ in 0..<reapAttempts where waitpid(child, nil, WNOHANG) == 0 { usleep(1_000) }
    return isLate || lines.last == end ? (lines.filter { $0 != end }, isLate) : nil
  }

  private static let end = "end"
  private static let reapAttempts = 100

  private static func writeLine(_ line: String) {
    let bytes = Array("\(line)\0".utf8)
    var done = 0
    while done < bytes.count {
      let count = retrying { bytes.withUnsafeBytes { write(3, $0.baseAddress?.advanced(by: done), $0.count - done) } }
      guard count > 0 else { _exit(1) }
      done += count
    }
  }

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
    // Drops an incomplete last line.
    let lines = bytes.split(separator: 0, omittingEmptySubsequences: false).dropLast()
    return (lines.map { String(decoding: $0, as: UTF8.self) }, isLate)
  }
}
