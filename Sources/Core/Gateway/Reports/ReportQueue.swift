package import Policy

/// Decides which failures a worker reports, one report at a time, and counts the results.
package struct ReportQueue: Sendable {
  package struct Counts: Sendable, Equatable {
    package var sent: UInt64 = 0
    package var failed: UInt64 = 0
    package var suppressed: UInt64 = 0

    package init() {}

    package mutating func add(_ other: Counts) {
      sent &+= other.sent
      failed &+= other.failed
      suppressed &+= other.suppressed
    }
  }

  package private(set) var counts = Counts()
  /// Whether a report is being sent.
  package private(set) var isSending = false
  private var waiting: [VerificationFailure] = []

  /// Maximum number of reports that wait.
  package static let limit = 16

  package init() {}

  package var isEmpty: Bool { waiting.isEmpty }

  /// Adds a failure, and returns `true` if it will be reported.
  /// - Parameters:
  ///   - reportHost: the host that receives the reports. No failure of this host is reported (RFC 7469 section 3).
  ///   - isNew: whether the failure was not reported recently. Called only if there is room for the report.
  package mutating func add(_ failure: VerificationFailure, reportHost: HostName, isNew: () -> Bool) -> Bool {
    let upstream = failure.upstream
    guard upstream.origin.host != reportHost, upstream.hostToDial != reportHost, waiting.count < Self.limit, isNew()
    else {
      counts.suppressed &+= 1
      return false
    }
    waiting.append(failure)
    return true
  }

  /// Removes and returns the failure to report now. `nil` if there is none, or if a report is being sent.
  package mutating func next() -> VerificationFailure? {
    guard !isSending, !waiting.isEmpty else { return nil }
    isSending = true
    return waiting.removeFirst()
  }

  package mutating func finished(isSent: Bool) {
    guard isSending else { return }
    isSending = false
    if isSent { counts.sent &+= 1 } else { counts.failed &+= 1 }
  }

  /// Removes all waiting reports.
  package mutating func removeAll() {
    counts.suppressed &+= UInt64(waiting.count)
    waiting = []
  }
}
