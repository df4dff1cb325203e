internal import Console
internal import System

/// The `bearerd` of the demo as a child process, and its log.
final class DemoDaemon {
  let port: UInt16
  private let process: ChildProcess
  private let log: DaemonLog

  init(configuration: String, signals: SignalDescriptor) throws {
    process = try InstalledDaemon.start(configuration: configuration)
    log = DaemonLog(descriptor: process.standardError, signals: signals)
    var port: UInt16?
    var output = ""
    while let line = try log.next(timeout: 20_000) {
      output += line + "\n"
      if line.contains("event=listening"), let colon = line.lastIndex(of: ":") {
        port = UInt16(line[line.index(after: colon)...].prefix(while: \.isNumber))
      }
      if line.contains("event=ready"), port != nil { break }
    }
    guard let port, output.contains("event=ready") else {
      throw Failure(Failure.system, "bearerd did not start. Its output:\n\(output)")
    }
    self.port = port
  }

  deinit { process.stop(gracePeriod: 3_000) }

  /// Throws `Interruption` if a signal has arrived.
  func checkInterruption() throws {
    while try log.next(timeout: 0) != nil {}
  }

  /// Waits until a signal arrives, and passes the log line of each refused request to `onRefusal`.
  func serve(onRefusal: (String) -> Void) throws {
    while let line = try log.next(timeout: -1) {
      if line.contains("event=request"), line.contains(" refused=") { onRefusal(line) }
    }
    throw Failure(Failure.system, "bearerd ended unexpectedly")
  }
}
