internal import Glibc
internal import System

/// The terminal in full-screen mode, without cursor and echo.
final class Screen {
  enum Event {
    case timeout, redraw, quit, suspended
    case ended(by: Int32)
  }

  /// Whether standard output is a terminal that supports full-screen mode.
  static var isPossible: Bool { isatty(STDOUT_FILENO) == 1 && ProcessEnvironment.value("TERM") != "dumb" }

  private let signals: Int32
  private let hasKeyboard: Bool
  private var original = termios()
  private var isEntered = false

  private static let handled = [SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGCONT, SIGWINCH]

  init() {
    var ends: [Int32] = [-1, -1]
    pipe(&ends)
    for end in ends { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
    signals = ends[0]
    signalPipe = ends[1]
    hasKeyboard = isatty(STDIN_FILENO) == 1 && tcgetattr(STDIN_FILENO, &original) == 0
    for number in Screen.handled { catchSignal(number) }
    enter()
  }

  /// The size of the terminal; 80 by 24 if unknown.
  var size: (columns: Int, lines: Int) {
    var size = winsize()
    guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return (80, 24) }
    return (Int(size.ws_col), Int(size.ws_row))
  }

  /// Draws the lines over the current contents.
  func show(_ lines: [String]) {
    // Clearing the screen first would flicker.
    StandardOutput.print("\u{1B}[H" + lines.map { $0 + "\u{1B}[K" }.joined(separator: "\n") + "\u{1B}[J")
  }

  /// Waits for a key, a signal or the deadline, in microseconds of the monotonic clock.
  func wait(until deadline: UInt64) -> Event {
    while true {
      let now = Clock.monotonicMicroseconds
      guard now < deadline else { return .timeout }
      var entries = [
        pollfd(fd: signals, events: Int16(POLLIN), revents: 0),
        pollfd(fd: hasKeyboard ? STDIN_FILENO : -1, events: Int16(POLLIN), revents: 0),
      ]
      guard poll(&entries, 2, Int32(clamping: (deadline - now) / 1000 + 1)) > 0 else { continue }
      var byte: UInt8 = 0
      if entries[0].revents != 0, read(signals, &byte, 1) == 1 { return event(of: Int32(byte)) }
      if entries[1].revents != 0 {
        // The terminal was closed.
        guard read(STDIN_FILENO, &byte, 1) == 1 else { return .quit }
        if byte == UInt8(ascii: "q") || byte == 4 { return .quit }
      }
    }
  }

  private func event(of signal: Int32) -> Event {
    switch signal {
    case SIGTSTP: return .suspended
    case SIGWINCH: return .redraw
    case SIGCONT:
      // SIGSTOP cannot be caught, so the terminal was not restored before the stop.
      enter()
      return .redraw
    default: return .ended(by: signal)
    }
  }

  /// Restores the terminal, stops the process, and returns when the process continues.
  func suspend() {
    restore()
    Glibc.signal(SIGTSTP, SIG_DFL)
    raise(SIGTSTP)
    catchSignal(SIGTSTP)
    enter()
  }

  /// Restores the terminal, and then lets the signal end the process.
  func end(by signal: Int32) {
    restore()
    Glibc.signal(signal, SIG_DFL)
    raise(signal)
  }

  private func enter() {
    if hasKeyboard {
      var raw = original
      // Reads single keys without echo. Ctrl-C and Ctrl-Z still send signals.
      raw.c_lflag &= ~tcflag_t(ICANON | ECHO)
      tcsetattr(STDIN_FILENO, TCSANOW, &raw)
    }
    StandardOutput.print("\u{1B}[?1049h\u{1B}[?25l")
    isEntered = true
  }

  func restore() {
    guard isEntered else { return }
    isEntered = false
    StandardOutput.print("\u{1B}[0m\u{1B}[?25h\u{1B}[?1049l")
    if hasKeyboard { tcsetattr(STDIN_FILENO, TCSADRAIN, &original) }
  }
}

/// The pipe to which the signal handler writes.
nonisolated(unsafe) private var signalPipe: Int32 = -1

/// Installs a signal handler that writes the signal's number to `signalPipe`.
private func catchSignal(_ number: Int32) {
  signal(number) { number in
    // `write` is async-signal-safe.
    var byte = UInt8(truncatingIfNeeded: number)
    write(signalPipe, &byte, 1)
  }
}
