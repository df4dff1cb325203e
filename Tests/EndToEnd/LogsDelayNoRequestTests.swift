import TestServer
import Foundation
import ServerSupport
import TestSupport
import Testing

/// Requests do not wait for log lines that cannot be written, and lost lines are counted (T58).
@Suite(.waits) struct LogsDelayNoRequest {
  enum Sink: CaseIterable, CustomTestStringConvertible {
    /// Each write fails, as on a full disk.
    case full
    /// A pipe without a reading process.
    case stuck
    /// A pipe whose reader is gone.
    case gone

    var testDescription: String { "\(self)" }

    /// Returns the descriptor for the daemon, and a descriptor that must stay open.
    fileprivate func open() throws -> (writing: Int32, kept: Int32?) {
      if self == .full { return (Glibc.open("/dev/full", O_WRONLY | O_CLOEXEC), nil) }
      var ends: [Int32] = [-1, -1]
      guard pipe(&ends) == 0 else { throw TestFailure("pipe") }
      for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
      if self == .stuck { return (ends[1], ends[0]) }
      close(ends[0])
      return (ends[1], nil)
    }
  }

  @Test(arguments: Sink.allCases)
  func `T58: log lines that cannot be written delay no request, and are counted`(sink: Sink) throws {
    let stage = try Stage()
    let path = stage.scratch.path + "/app.sock"
    let text = stage.configuration(listener: "address: \"unix:\(path)\"")
    let file = try stage.scratch.write("bearerd.yaml", text, mode: 0o644)
    let (writing, kept) = try sink.open()
    defer { if let kept { close(kept) } }
    var variables = ProcessInfo.processInfo.environment
    variables["RUNTIME_DIRECTORY"] = stage.scratch.path
    let daemon = try Child(
      RunningDaemon.binary("bearerd"), ["--config", file], environment: variables, errors: writing)
    close(writing)
    let control = stage.scratch.path + "/control.sock"
    #expect(eventually { (try? LocalClient(unix: path)) != nil && (try? LocalClient(unix: control)) != nil })

    // The log buffer of 1 MB has no room for all of these lines of 1 KB.
    let client = try RawClient(unix: path)
    let long = String(repeating: "x", count: 1_000)
    for _ in 0..<30 {
      try client.send("GET /api/x HTTP/1.1\r\nHost: localhost\r\n\r\n")
      #expect(try client.response().body == "hello")
      try client.send(String(repeating: "GET /\(long) HTTP/1.1\r\nHost: localhost\r\n\r\n", count: 60))
      for _ in 0..<60 { #expect(try client.response().head.hasPrefix("HTTP/1.1 404 ")) }
    }
    let dropped = try PrometheusText(String(try stage.control("metrics").dropFirst(3)))
      .value("bearerd_log_lines_dropped_total")
    #expect(dropped > 50 && dropped < 1_830, "\(dropped)")
    #expect(Observed(pid: daemon.pid).resident < 64 * 1_024 || !Observed.isMemoryMeasurable)
    #expect(!Observed(pid: daemon.pid).spins(), "it tries again, and not all the time")
    daemon.kill(SIGTERM)
    #expect(daemon.wait(seconds: 20) == 0)
    stage.assertCanary(times: 30)
  }
}
