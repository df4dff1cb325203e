internal import Console
internal import Glibc
internal import System

/// `bearerctl status --watch`: asks every second and draws what came.
struct Watch {
  let client: ControlClient

  /// Seconds.
  private static let interval = 1
  /// For one answer. A daemon that is too busy for it is worth knowing of.
  private static let patience: UInt64 = 2

  func run() throws {
    guard Screen.isPossible else { return try runPlainly() }
    var history = WatchHistory()
    // Before the screen changes: an error for the wrong place should read so.
    history.add(try StatusDocument(asking: client, seconds: Watch.patience))
    let terminal = Terminal.output
    let screen = Screen()
    defer { screen.leave() }
    var next = now + UInt64(Watch.interval) * 1_000_000
    screen.show(WatchView(history, problem: nil, terminal).lines(screen.size))
    var problem: String?
    while true {
      switch screen.wait(until: next) {
      case .quit: return
      case .ended(by: let signal): return screen.end(by: signal)
      case .suspended: screen.suspend()
      case .redraw: break
      case .timeIsUp:
        next = now + UInt64(Watch.interval) * 1_000_000
        do {
          history.add(try StatusDocument(asking: client, seconds: Watch.patience))
          problem = nil
        } catch let failure as Failure {
          problem = failure.message.split(separator: "\n").first.map(String.init)
        }
      }
      screen.show(WatchView(history, problem: problem, terminal).lines(screen.size))
    }
  }

  /// Into a file or a pipe: one status after the other.
  private func runPlainly() throws {
    while true {
      StandardOutput.print(StatusText(try StatusDocument(asking: client), .output).description + "\n")
      sleep(UInt32(Watch.interval))
    }
  }

  private var now: UInt64 { Clock.monotonicMicroseconds }
}
