package import Foundation

/// A daemon under test: a separate process (`RunningDaemon`), or threads of the test process.
package protocol TestedDaemon: AnyObject {
  /// The configuration file.
  var file: String { get }
  var log: DaemonLog { get }
  var isRunning: Bool { get }
  /// Starts a reload, without waiting for the result.
  func beginReload()
  /// Starts a shutdown as SIGTERM does, without waiting for the end.
  func beginStop()
  /// Waits for the exit status. Afterwards the log is complete.
  func waitForExit() -> Int32
}

extension TestedDaemon {
  /// Returns the port of a listener, from its `listening` event.
  package func port(_ listener: String = "main") throws -> UInt16 {
    for address in log.lines(named: "listening", ["listener": "\(listener)"]).compactMap({ $0["address"] }) {
      if let colon = address.lastIndex(of: ":"), let port = UInt16(address[address.index(after: colon)...]) {
        return port
      }
    }
    throw TestFailure("no port of \(listener) in:\n\(log)")
  }

  /// Reloads, and waits for the event with the result.
  package func reload() throws {
    let before = reloads
    beginReload()
    guard log.wait(until: { self.reloads > before }) else {
      throw TestFailure("no answer to the wish to reload:\n\(log)")
    }
  }

  /// The number of reloads that have ended.
  private var reloads: Int { log.lines(named: "reloaded").count + log.lines(named: "reload-failed").count }

  package func stop() -> Int32 {
    beginStop()
    return waitForExit()
  }

  /// The process id. Only for a daemon in a separate process.
  package var pid: pid_t {
    guard let daemon = self as? RunningDaemon else { preconditionFailure("this daemon is the test itself") }
    return daemon.process.pid
  }

  /// Sends a signal to the daemon's process, and waits for the exit status.
  package func stop(_ signal: Int32) -> Int32 {
    kill(pid, signal)
    return waitForExit()
  }
}
