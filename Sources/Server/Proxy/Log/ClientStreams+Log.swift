internal import EventLoop
internal import Gateway
internal import HTTP2
internal import Log
internal import Policy
internal import StatusModel

extension ClientStreams {
  /// Logs why the client gets GOAWAY, and why the connection ends.
  /// - Parameter isExpected: whether the client did nothing wrong.
  func logEnd(_ code: HTTP2Code, _ detail: String, isExpected: Bool = false) {
    // As for requests, one line stands for many connections of callers that are not admitted.
    if connection.quota.holder == .notAdmitted, !worker.acquireUnadmittedLogLine() { return }
    worker.log.event(
      .http2Ended, at: isExpected ? .notice : .warning, ("uid", connection.arrival.caller?.uid.map { String($0) }),
      ("unit", connection.unit),
      ("code", code.description), ("detail", detail))
  }
}
