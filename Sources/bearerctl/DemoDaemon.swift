internal import Glibc
internal import System

/// Somebody asked us to end.
struct Interruption: Error {
  let signal: Int32
  /// SIGPIPE: whoever read our output has gone.
  static let signals: [Int32] = [SIGINT, SIGTERM, SIGHUP, SIGPIPE]
}

/// The real `bearerd`, and what it logs.
final class DemoDaemon {
  let port: UInt16
  private let process: ChildProcess
  private let log: DemoLog

  /// Starts it, and waits until it serves.
  init(configuration: String, signals: consuming SignalDescriptor) throws {
    let program = "\(DemoDaemon.ownDirectory)/bearerd"
    guard access(program, X_OK) == 0 else {
      throw Failure(Failure.unavailable, "there is no \(program); \"make build\" builds it beside bearerctl")
    }
    process = try ChildProcess(path: program, arguments: ["--config", configuration])
    log = DemoLog(descriptor: process.standardError, signals: signals)
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
      throw Failure(Failure.system, "bearerd did not start; it said:\n\(said)")
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
    throw Failure(Failure.system, "bearerd ended by itself")
  }

  /// Where this program is.
  static var ownDirectory: String {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink("/proc/self/exe", &buffer, buffer.count)
    let path = String(decoding: buffer.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
  }
}

/// Lines from a pipe, as long as nobody interrupts.
private final class DemoLog {
  private let descriptor: Int32
  private let signals: SignalDescriptor
  private var pending: [UInt8] = []

  init(descriptor: Int32, signals: consuming SignalDescriptor) {
    self.descriptor = descriptor
    self.signals = signals
  }

  /// nil: none came within `patience` milliseconds (-1: any time), or the program has ended.
  func next(patience: Int32) throws -> String? {
    while true {
      if let end = pending.firstIndex(of: UInt8(ascii: "\n")) {
        defer { pending.removeFirst(end + 1) }
        return String(decoding: pending[..<end], as: UTF8.self).harmless
      }
      var waiting = [signals.descriptor, descriptor].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      let count = poll(&waiting, 2, patience)
      if waiting[0].revents != 0, let signal = signals.next() { throw Interruption(signal: signal) }
      if count == 0 { return nil }
      if waiting[1].revents != 0, try !fill() { return nil }
    }
  }

  /// False: nothing will come.
  private func fill() throws -> Bool {
    var bytes = [UInt8](repeating: 0, count: 16_384)
    let count = read(descriptor, &bytes, bytes.count)
    if count > 0 { pending += bytes.prefix(count) }
    return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR))
  }
}
