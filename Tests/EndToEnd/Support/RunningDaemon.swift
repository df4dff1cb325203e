import Foundation
import Synchronization

/// The real binary, started as a user starts it, with what it logs.
final class RunningDaemon {
  private let process: Child
  private let log = LogCollector()
  let file: String

  /// Starts it and waits until it serves.
  /// - Parameter wrapper: a program, by its path, that becomes the daemon, with its arguments.
  init(configuration file: String, environment: [String: String] = [:], wrapper: [String] = []) throws {
    self.file = file
    var variables = ProcessInfo.processInfo.environment
    variables["RUNTIME_DIRECTORY"] = (file as NSString).deletingLastPathComponent
    variables.merge(environment) { $1 }
    let words = wrapper + [Self.binary("bearerd"), "--config", file]
    process = try Child(
      words[0], Array(words.dropFirst()), environment: variables, errors: log.writing.fileDescriptor)
    try log.writing.close()
    guard log.wait(for: { $0.contains("event=ready") }) else {
      throw TestFailure("bearerd did not start:\n\(log.text)")
    }
  }

  /// Built beside the tests, from the same tree.
  static func binary(_ name: String) -> String {
    if let directory = ProcessInfo.processInfo.environment["BEARERD_BIN"] { return directory + "/" + name }
    let argument = CommandLine.arguments.first { $0.hasSuffix(".xctest") } ?? CommandLine.arguments[0]
    return (argument as NSString).deletingLastPathComponent + "/" + name
  }

  var pid: pid_t { process.pid }
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
  func stop(_ signal: Int32 = SIGTERM) -> Int32 {
    process.kill(signal)
    return waitForExit()
  }

  /// The exit status; for a death by signal, the negative signal. The log is complete then.
  func waitForExit() -> Int32 {
    let status = process.wait()
    log.finish()
    return status
  }
}

/// Gathers what a process writes to its standard error.
final class LogCollector: Sendable {
  /// For the child. Close it here once the child has it.
  let writing: FileHandle
  private let state = Mutex((text: "", isOver: false))
  private let changed = DispatchSemaphore(value: 0)

  init() {
    // Close-on-exec from the first moment: a process that another test starts just now would hold it open.
    var ends: [Int32] = [-1, -1]
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    precondition(socketpair(AF_UNIX, kind, 0, &ends) == 0, "no sockets")
    writing = FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
    let reading = ends[0]
    // A thread of its own: it must come along while all of the test runner's wait.
    Thread.detachNewThread { [self] in collect(reading) }
  }

  private func collect(_ descriptor: Int32) {
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while case let count = read(descriptor, &chunk, chunk.count), count > 0 {
      state.withLock { $0.text += String(decoding: chunk[..<count], as: UTF8.self) }
      changed.signal()
    }
    close(descriptor)
    state.withLock { $0.isOver = true }
    changed.signal()
  }

  var text: String { state.withLock(\.text) }

  func wait(for condition: @escaping (String) -> Bool) -> Bool {
    let limit = DispatchTime.now() + .seconds(20)
    while true {
      if condition(text) { return true }
      if state.withLock(\.isOver) || changed.wait(timeout: limit) == .timedOut { return condition(text) }
    }
  }

  func finish() { _ = wait { _ in self.state.withLock(\.isOver) } }
}
