import Foundation
import TestSupport

/// A program on its own terminal, and its output.
final class PseudoTerminal: @unchecked Sendable {
  private let master: Int32
  private let lock = NSLock()
  private var text = ""
  private let child: Child

  init(_ program: String, _ arguments: [String], columns: Int, lines: Int, environment: [String: String] = [:]) throws {
    var (master, slave): (Int32, Int32) = (-1, -1)
    var size = winsize(ws_row: UInt16(lines), ws_col: UInt16(columns), ws_xpixel: 0, ws_ypixel: 0)
    guard openpty(&master, &slave, nil, nil, &size) == 0 else { throw TestFailure("openpty: \(errno)") }
    _ = fcntl(master, F_SETFD, FD_CLOEXEC)
    self.master = master
    // The terminal needs its own session, or keys like Ctrl-C would send no signal.
    child = try Child(
      "/usr/bin/setsid", ["--ctty", program] + arguments,
      environment: ["PATH": "/usr/bin:/bin", "TERM": "xterm"].merging(environment) { $1 },
      input: slave, output: slave, errors: slave)
    close(slave)
    Thread.detachNewThread { [self] in collect() }
  }

  deinit { close(master) }

  private func collect() {
    var bytes = [UInt8](repeating: 0, count: 65_536)
    var incomplete: [UInt8] = []
    while case let count = read(master, &bytes, bytes.count), count > 0 {
      incomplete += bytes[..<count]
      // Only complete UTF-8 characters are appended.
      guard let whole = String(validating: incomplete, as: UTF8.self) else { continue }
      incomplete = []
      lock.withLock { text += whole }
    }
  }

  var output: String { lock.withLock { text } }

  /// The lines of the last complete picture, without escape sequences.
  var picture: [String] {
    let begin = "\u{1B}[H"
    let end = "\u{1B}[J"
    guard let stop = output.range(of: end, options: .backwards),
      let start = output.range(of: begin, options: .backwards, range: output.startIndex..<stop.lowerBound)
    else { return [] }
    return output[start.upperBound..<stop.lowerBound].replacing(/\u{1B}\[[0-9;]*[A-Za-z]/, with: "")
      .split(separator: "\r\n", omittingEmptySubsequences: false).map(String.init)
  }

  func wait(for condition: ([String]) -> Bool) -> Bool { eventually { condition(picture) } }

  func type(_ keys: String) { _ = Array(keys.utf8).withUnsafeBytes { write(master, $0.baseAddress, $0.count) } }

  func resize(columns: Int, lines: Int) {
    var size = winsize(ws_row: UInt16(lines), ws_col: UInt16(columns), ws_xpixel: 0, ws_ypixel: 0)
    _ = ioctl(master, UInt(TIOCSWINSZ), &size)
  }

  /// Whether the terminal has echo and line mode, as a shell expects.
  var isOrdinary: Bool {
    var attributes = termios()
    return tcgetattr(master, &attributes) == 0
      && attributes.c_lflag & tcflag_t(ECHO | ICANON) == tcflag_t(ECHO | ICANON)
  }

  /// The process ID of the program, because setsid(1) executes it.
  var pid: pid_t { child.pid }

  /// Returns the exit status, or the negative signal number.
  func waitForExit() -> Int32 { child.wait() }
}
