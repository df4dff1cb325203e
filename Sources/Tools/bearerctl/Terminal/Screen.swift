internal import Glibc
internal import System

/// The whole terminal, borrowed: the alternate screen, without cursor and echo, and given back on every way out.
final class Screen {
  enum Event {
    case timeIsUp, redraw, quit, suspended
    case ended(by: Int32)
  }

  /// The standard output is a terminal that can be drawn on.
  static var isPossible: Bool { isatty(STDOUT_FILENO) == 1 && ProcessEnvironment.value("TERM") != "dumb" }

  private let signals: Int32
  private let hasKeyboard: Bool
  private var original = termios()
  private var isEntered = false

  private static let caught = [SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGCONT, SIGWINCH]

  init() {
    var ends: [Int32] = [-1, -1]
    pipe(&ends)
    for end in ends { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
    signals = ends[0]
    signalPipe = ends[1]
    hasKeyboard = isatty(STDIN_FILENO) == 1 && tcgetattr(STDIN_FILENO, &original) == 0
    for number in Screen.caught { catchSignal(number) }
    enter()
  }

  /// Columns and lines.
  var size: (columns: Int, lines: Int) {
    var size = winsize()
    guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return (80, 24) }
    return (Int(size.ws_col), Int(size.ws_row))
  }

  /// Draws over what is there, which flickers less than to clear it first.
  func show(_ lines: [String]) {
    StandardOutput.print("\u{1B}[H" + lines.map { $0 + "\u{1B}[K" }.joined(separator: "\n") + "\u{1B}[J")
  }

  /// The next event, at the latest at this time of the monotonic clock, in microseconds.
  func wait(until deadline: UInt64) -> Event {
    while true {
      let now = Clock.monotonicMicroseconds
      guard now < deadline else { return .timeIsUp }
      var entries = [
        pollfd(fd: signals, events: Int16(POLLIN), revents: 0),
        pollfd(fd: hasKeyboard ? STDIN_FILENO : -1, events: Int16(POLLIN), revents: 0),
      ]
      guard poll(&entries, 2, Int32(clamping: (deadline - now) / 1000 + 1)) > 0 else { continue }
      var byte: UInt8 = 0
      if entries[0].revents != 0, read(signals, &byte, 1) == 1 { return event(of: Int32(byte)) }
      if entries[1].revents != 0 {
        // The terminal is gone.
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
      // Stopped by a signal that cannot be caught, it had no chance to give anything back.
      enter()
      return .redraw
    default: return .ended(by: signal)
    }
  }

  /// Stops, as the shell has asked, with the terminal as it was; returns when it goes on.
  func suspend() {
    leave()
    Glibc.signal(SIGTSTP, SIG_DFL)
    raise(SIGTSTP)
    catchSignal(SIGTSTP)
    enter()
  }

  /// Gives the terminal back and lets the signal do what it does to others.
  func end(by signal: Int32) {
    leave()
    Glibc.signal(signal, SIG_DFL)
    raise(signal)
  }

  private func enter() {
    if hasKeyboard {
      var raw = original
      // Keys come one by one and unseen; Ctrl-C and Ctrl-Z stay signals.
      raw.c_lflag &= ~tcflag_t(ICANON | ECHO)
      tcsetattr(STDIN_FILENO, TCSANOW, &raw)
    }
    StandardOutput.print("\u{1B}[?1049h\u{1B}[?25l")
    isEntered = true
  }

  func leave() {
    guard isEntered else { return }
    isEntered = false
    StandardOutput.print("\u{1B}[0m\u{1B}[?25h\u{1B}[?1049l")
    if hasKeyboard { tcsetattr(STDIN_FILENO, TCSADRAIN, &original) }
  }
}

/// The pipe for the handler's numbers of signals. Global and unsafe, because a C signal handler has no context to find it in;
/// set before the first signal is caught, and never again.
nonisolated(unsafe) private var signalPipe: Int32 = -1

/// The handler does what a handler may: it writes a byte (signal-safety(7)).
private func catchSignal(_ number: Int32) {
  signal(number) { number in
    var byte = UInt8(truncatingIfNeeded: number)
    write(signalPipe, &byte, 1)
  }
}
