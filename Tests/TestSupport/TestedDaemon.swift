package import Foundation

/// A daemon as tests see it: a process of its own (`RunningDaemon`), or threads of theirs.
package protocol TestedDaemon: AnyObject {
  /// Its configuration.
  var file: String { get }
  var log: OutputCollector { get }
  var isRunning: Bool { get }
  /// Reads its configuration again; does not wait for that.
  func beginReload()
  /// What SIGTERM and SIGINT do; does not wait for the end.
  func beginStop()
  /// The exit status, once it has ended. The log is complete then.
  func waitForExit() -> Int32
}

extension TestedDaemon {
  package var logText: String { log.text }

  /// The port of a listener, from the line that says it listens.
  package func port(_ listener: String = "main") throws -> UInt16 {
    for line in log.text.split(separator: "\n") where line.contains("event=listening listener=\(listener) ") {
      if let colon = line.lastIndex(of: ":"), let port = UInt16(line[line.index(after: colon)...]) { return port }
    }
    throw TestFailure("no port of \(listener) in:\n\(log.text)")
  }

  /// Waits until the log holds `text`, `count` times.
  @discardableResult
  package func waitForLog(_ text: String, count: Int = 1) -> Bool {
    log.wait { $0.components(separatedBy: text).count > count }
  }

  /// Waits for the line that says how it went.
  package func reload() throws {
    let before = log.text.components(separatedBy: "event=reload").count
    beginReload()
    guard log.wait(for: { $0.components(separatedBy: "event=reload").count > before }) else {
      throw TestFailure("no answer to the wish to reload:\n\(log.text)")
    }
  }

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
