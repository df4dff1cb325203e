import Foundation

/// The real program in its own process, with its log.
package final class RunningDaemon: TestedDaemon {
  let process: Child
  package let log = DaemonLog()
  package let file: String

  /// Starts the daemon and waits for its `ready` event.
  /// - Parameters:
  ///   - wrapper: the path and arguments of a program that executes the daemon.
  ///   - passed: descriptors that the daemon inherits, from 3 on.
  package init(
    configuration file: String, environment: [String: String] = [:], wrapper: [String] = [], passed: [Int32] = []
  ) throws {
    self.file = file
    var variables = ProcessInfo.processInfo.environment
    variables["RUNTIME_DIRECTORY"] = (file as NSString).deletingLastPathComponent
    variables.merge(environment) { $1 }
    let words = wrapper + [Self.binary("bearerd"), "--config", file]
    process = try Child(
      words[0], Array(words.dropFirst()), environment: variables, errors: log.writing.fileDescriptor, passed: passed)
    try log.writing.close()
    guard log.wait(until: { [log] in !log.lines(named: "ready").isEmpty }) else {
      throw TestFailure("bearerd did not start:\n\(log)")
    }
  }

  /// Returns the path of a program that was built with the tests.
  package static func binary(_ name: String) -> String {
    if let directory = ProcessInfo.processInfo.environment["BEARERD_BIN"] { return directory + "/" + name }
    let argument = CommandLine.arguments.first { $0.hasSuffix(".xctest") } ?? CommandLine.arguments[0]
    return (argument as NSString).deletingLastPathComponent + "/" + name
  }

  package var isRunning: Bool { process.isRunning }
  package func beginReload() { process.kill(SIGHUP) }
  package func beginStop() { process.kill(SIGTERM) }

  /// Waits for the exit status, which is the negative signal after a death by signal. Afterwards the log is complete.
  package func waitForExit() -> Int32 {
    let status = process.wait()
    log.finish()
    return status
  }
}
