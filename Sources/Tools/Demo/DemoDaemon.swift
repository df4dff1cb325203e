internal import Console
internal import System

/// The real `bearerd`, and what it logs.
final class DemoDaemon {
  let port: UInt16
  private let process: ChildProcess
  private let log: DaemonLog

  /// Starts it, and waits until it serves.
  init(configuration: String, signals: SignalDescriptor) throws {
    process = try InstalledDaemon.start(configuration: configuration)
    log = DaemonLog(descriptor: process.standardError, signals: signals)
    var port: UInt16?
    var said = ""
    while let line = try log.next(patience: 20_000) {
      said += line + "\n"
      if line.contains("event=listening"), let colon = line.lastIndex(of: ":") {
        port = UInt16(line[line.index(after: colon)...].prefix(while: \.isNumber))
      }
      if line.contains("event=ready"), port != nil { break }
      port = line.contains("event=ready") ? nil : port
    }
    guard let port, said.contains("event=ready") else {
      throw Failure(Failure.system, "bearerd did not start. Its output:\n\(said)")
    }
    self.port = port
  }

  deinit { process.stop(patience: 3_000) }

  /// - Throws: `Interruption`
  func checkInterruption() throws {
    while try log.next(patience: 0) != nil {}
  }

  /// Until it is interrupted. Each line that says that bearerd refused a request goes to `onRefusal`.
  func serve(onRefusal: (String) -> Void) throws {
    while let line = try log.next(patience: -1) {
      if line.contains("event=request"), line.contains(" refused=") { onRefusal(line) }
    }
    throw Failure(Failure.system, "bearerd ended unexpectedly")
  }
}
