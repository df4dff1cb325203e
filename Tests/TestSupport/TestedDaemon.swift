package import Foundation

/// A daemon as tests see it: a process of its own (`RunningDaemon`), or threads of theirs.
package protocol TestedDaemon: AnyObject {
  /// Its configuration.
  var file: String { get }
  var log: DaemonLog { get }
  var isRunning: Bool { get }
  /// Reads its configuration again; does not wait for that.
  func beginReload()
  /// What SIGTERM and SIGINT do; does not wait for the end.
  func beginStop()
  /// The exit status, once it has ended. The log is complete then.
  func waitForExit() -> Int32
}

extension TestedDaemon {
  /// The port of a listener, from the line that says it listens.
  package func port(_ listener: String = "main") throws -> UInt16 {
    for address in log.lines(named: "listening", ["listener": "\(listener)"]).compactMap({ $0["address"] }) {
      if let colon = address.lastIndex(of: ":"), let port = UInt16(address[address.index(after: colon)...]) {
        return port
      }
    }
    throw TestFailure("no port of \(listener) in:\n\(log)")
  }

  /// Waits for the line that says how it went.
  package func reload() throws {
    let before = reloads
    beginReload()
    guard log.wait(until: { self.reloads > before }) else {
      throw TestFailure("no answer to the wish to reload:\n\(log)")
    }
  }

  /// How many have ended, well or not.
  private var reloads: Int { log.lines(named: "reloaded").count + log.lines(named: "reload-failed").count }

  package func stop() -> Int32 {
    beginStop()
    return waitForExit()
  }

  /// Of a process of its own; there is no other way to what only those have.
  package var pid: pid_t {
    guard let daemon = self as? RunningDaemon else { preconditionFailure("this daemon is the test itself") }
    return daemon.process.pid
  }

  /// A signal to a process of its own, and the exit status.
  package func stop(_ signal: Int32) -> Int32 {
    kill(pid, signal)
    return waitForExit()
  }
}
