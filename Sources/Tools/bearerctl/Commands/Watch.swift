internal import Console
internal import Glibc
internal import System

/// `bearerctl status --watch`: displays the daemon's status every second.
struct Watch {
  let client: ControlClient

  /// Time between two status requests, in seconds.
  private static let interval = 1
  /// Timeout of one status request, in seconds.
  private static let timeout: UInt64 = 2

  func run() throws {
    guard Screen.isPossible else { return try runPlainly() }
    var history = WatchHistory()
    // Before the screen changes, so that the user can read an error.
    history.add(try client.status(seconds: Watch.timeout))
    let terminal = Terminal.output
    let screen = Screen()
    defer { screen.restore() }
    var next = now + UInt64(Watch.interval) * 1_000_000
    screen.show(WatchView(history: history, problem: nil, terminal: terminal).lines(screen.size))
    var problem: String?
    while true {
      switch screen.wait(until: next) {
      case .quit: return
      case .ended(by: let signal): return screen.end(by: signal)
      case .suspended: screen.suspend()
      case .redraw: break
      case .timeout:
        next = now + UInt64(Watch.interval) * 1_000_000
        do {
          history.add(try client.status(seconds: Watch.timeout))
          problem = nil
        } catch let failure as Failure {
          problem = failure.message.split(separator: "\n").first.map(String.init)
        }
      }
      screen.show(WatchView(history: history, problem: problem, terminal: terminal).lines(screen.size))
    }
  }

  private func runPlainly() throws {
    while true {
      StandardOutput.print(StatusText(status: try client.status(), terminal: .output).description + "\n")
      sleep(UInt32(Watch.interval))
    }
  }

  private var now: UInt64 { Clock.monotonicMicroseconds }
}
