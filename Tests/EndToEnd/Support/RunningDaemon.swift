import Foundation
import Synchronization

/// The real binary, started as a user starts it, with what it logs.
final class RunningDaemon {
  private let process = Process()
  private let log = LogCollector()
  let file: String

  /// Starts it and waits until it serves.
  init(configuration file: String, environment: [String: String] = [:]) throws {
    self.file = file
    process.executableURL = URL(fileURLWithPath: Self.binary("bearerd"))
    process.arguments = ["--config", file]
    var variables = ProcessInfo.processInfo.environment
    variables["RUNTIME_DIRECTORY"] = (file as NSString).deletingLastPathComponent
    variables.merge(environment) { $1 }
    process.environment = variables
    process.standardError = log.pipe
    try process.run()
    guard log.wait(for: { $0.contains("event=ready") || !self.process.isRunning }), process.isRunning else {
      throw TestFailure("bearerd did not start:\n\(log.text)")
    }
  }

  deinit {
    if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    process.waitUntilExit()
  }

  /// Built beside the tests, from the same tree.
  static func binary(_ name: String) -> String {
    if let directory = ProcessInfo.processInfo.environment["BEARERD_BIN"] { return directory + "/" + name }
    let bundle = Bundle.allBundles.map(\.bundlePath).first { $0.hasSuffix(".xctest") }
    let argument = CommandLine.arguments.first { $0.hasSuffix(".xctest") } ?? bundle ?? CommandLine.arguments[0]
    return (argument as NSString).deletingLastPathComponent + "/" + name
  }

  var pid: pid_t { process.processIdentifier }
  var isRunning: Bool { process.isRunning }
  var logText: String { log.text }

  /// The port of a listener, from the line that says it listens.
  func port(_ listener: String = "main") throws -> UInt16 {
    for line in log.text.split(separator: "\n") where line.contains("event=listening listener=\(listener) ") {
      if let colon = line.lastIndex(of: ":"), let port = UInt16(line[line.index(after: colon)...]) { return port }
    }
    throw TestFailure("no port of \(listener) in:\n\(log.text)")
  }

  /// Waits until the log holds `text`, `count` times.
  @discardableResult
  func waitForLog(_ text: String, count: Int = 1) -> Bool {
    log.wait { $0.components(separatedBy: text).count > count }
  }

  /// SIGHUP, and waits for the line that says how it went.
  func reload() throws {
    let before = log.text.components(separatedBy: "event=reload").count
    kill(pid, SIGHUP)
    guard log.wait(for: { $0.components(separatedBy: "event=reload").count > before }) else {
      throw TestFailure("no answer to SIGHUP:\n\(log.text)")
    }
  }

  /// SIGTERM, and the exit status.
  func stop() -> Int32 {
    kill(pid, SIGTERM)
    process.waitUntilExit()
    log.finish()
    return process.terminationStatus
  }
}

/// Gathers what a process writes to its standard error.
final class LogCollector: Sendable {
  let pipe = Pipe()
  private let state = Mutex((text: "", isOver: false))
  private let changed = DispatchSemaphore(value: 0)

  init() {
    // Or a daemon that another test starts at the same time would hold it open.
    for end in [pipe.fileHandleForReading, pipe.fileHandleForWriting] {
      _ = fcntl(end.fileDescriptor, F_SETFD, FD_CLOEXEC)
    }
    pipe.fileHandleForReading.readabilityHandler = { [self] handle in
      let data = handle.availableData
      state.withLock {
        $0.text += String(decoding: data, as: UTF8.self)
        if data.isEmpty { $0.isOver = true }
      }
      if data.isEmpty { handle.readabilityHandler = nil }
      changed.signal()
    }
  }

  var text: String { state.withLock(\.text) }

  func wait(for condition: @escaping (String) -> Bool) -> Bool {
    let limit = DispatchTime.now() + .seconds(20)
    while true {
      if condition(text) { return true }
      if state.withLock(\.isOver) || changed.wait(timeout: limit) == .timedOut { return condition(text) }
    }
  }

  func finish() { _ = wait { _ in false || self.state.withLock(\.isOver) } }
}
