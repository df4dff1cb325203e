package import Foundation

/// The real binary, started as a user starts it, with what it logs.
package final class RunningDaemon {
  private let process: Child
  private let log = OutputCollector()
  package let file: String

  /// Starts it and waits until it serves.
  /// - Parameters:
  ///   - wrapper: a program, by its path, that becomes the daemon, with its arguments.
  ///   - passed: descriptors that it gets from 3 on.
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
    guard log.wait(for: { $0.contains("event=ready") }) else {
      throw TestFailure("bearerd did not start:\n\(log.text)")
    }
  }

  /// Built beside the tests, from the same tree.
  package static func binary(_ name: String) -> String {
    if let directory = ProcessInfo.processInfo.environment["BEARERD_BIN"] { return directory + "/" + name }
    let argument = CommandLine.arguments.first { $0.hasSuffix(".xctest") } ?? CommandLine.arguments[0]
    return (argument as NSString).deletingLastPathComponent + "/" + name
  }

  package var pid: pid_t { process.pid }
  package var isRunning: Bool { process.isRunning }
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

  /// SIGHUP, and waits for the line that says how it went.
  package func reload() throws {
    let before = log.text.components(separatedBy: "event=reload").count
    kill(pid, SIGHUP)
    guard log.wait(for: { $0.components(separatedBy: "event=reload").count > before }) else {
      throw TestFailure("no answer to SIGHUP:\n\(log.text)")
    }
  }

  /// SIGTERM, and the exit status.
  package func stop(_ signal: Int32 = SIGTERM) -> Int32 {
    process.kill(signal)
    return waitForExit()
  }

  /// The exit status; for a death by signal, the negative signal. The log is complete then.
  package func waitForExit() -> Int32 {
    let status = process.wait()
    log.finish()
    return status
  }
}
