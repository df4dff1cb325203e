internal import Synchronization
internal import System

/// Writes records to the audit file on a thread of its own. If the queue is full, records are dropped and counted.
package final class AuditWriter: Sendable {
  package struct Status: Sendable {
    package var path: String
    package var device: UInt64
    package var inode: UInt64
    /// The number of the last record in the file.
    package var count: UInt64
    package var head: ChainHash
    /// Number of records dropped since the start.
    package var dropped: UInt64
    /// Why the last write failed. `nil` if it succeeded.
    package var problem: String?

    fileprivate func anchor(_ state: String) -> Event { .anchor(state: state, path: path, count: count, head: head) }
  }

  package enum Event: Sendable {
    /// Number and chain value of the last record.
    case anchor(state: String, path: String, count: UInt64, head: ChainHash)
    case failed(path: String, reason: String)
    case recovered(path: String, dropped: UInt64)
    /// The writer stopped, and could not write `count` records.
    case lost(path: String, count: UInt64)
  }

  private struct Shared: Sendable {
    var queue: [UInt8] = []
    /// Number of bytes that are taken from the queue, but not yet written.
    var unwritten = 0
    /// Number of dropped records that the file does not count yet.
    var dropped: UInt64 = 0
    var next: AuditFile?
    var isClosing = false
    /// The monotonic time in microseconds at which the current write began, or `nil` between writes.
    var writeStartedAt: UInt64?
    var status: Status
    var events: [Event] = []
  }

  private let shared: Guarded<Shared>
  private let encoder: Mutex<AuditEncoder>
  private let signal = ThreadSignal()
  private let onNews: @Sendable () -> Void

  /// Maximum number of bytes in the queue.
  private static let limit = 1 << 20
  private static let healthyLimit = limit / 2 * 3
  /// Number of records after which the chain value is logged.
  private static let anchorEvery: UInt64 = 10_000
  private static let retryMilliseconds = 1_000
  /// Time in microseconds after which an unfinished write counts as failed.
  private static let writeTimeout: UInt64 = 2_000_000

  /// - Parameter onEvent: Called on any thread when `popEvents` has events.
  package init(_ file: AuditFile, version: String, onEvent: @escaping @Sendable () -> Void) {
    let encoder = AuditEncoder(file, version: version)
    let status = Status(
      path: file.path, device: file.device, inode: file.inode, count: encoder.writtenChain.count,
      head: encoder.writtenChain.head, dropped: 0)
    shared = Guarded(Shared(writeStartedAt: Clock.monotonicMicroseconds, status: status))
    self.encoder = Mutex(encoder)
    self.onNews = onEvent
  }

  // MARK: for the event loops

  /// Adds a record to the queue. Call `wake` afterward.
  /// - Parameter isGuaranteed: `true` to add the record even if the queue is full.
  package func append(_ time: Span<UInt8>, _ record: Span<UInt8>, isGuaranteed: Bool) {
    shared.withLock { shared in
      guard isGuaranteed || shared.queue.count + shared.unwritten < AuditWriter.limit else {
        shared.dropped &+= 1
        shared.status.dropped &+= 1
        return
      }
      shared.queue.append(text: "time=")
      shared.queue.append(span: time)
      shared.queue.append(UInt8(ascii: " "))
      shared.queue.append(span: record)
    }
  }

  package func wake() { signal.signal() }

  /// Whether records are written without errors and delays.
  package var isHealthy: Bool {
    shared.withLock { shared in
      shared.status.problem == nil && AuditWriter.overdueTime(shared) == nil
        && shared.queue.count + shared.unwritten <= AuditWriter.healthyLimit
    }
  }

  package var status: Status {
    shared.withLock { shared in
      var status = shared.status
      if let overdueTime = AuditWriter.overdueTime(shared) {
        status.problem = "the file system has not responded for \(overdueTime / 1_000_000) s"
      }
      return status
    }
  }

  /// Returns the time of an overdue write in microseconds, or `nil` if no write is overdue.
  private static func overdueTime(_ shared: borrowing Shared) -> UInt64? {
    guard let writeStartedAt = shared.writeStartedAt else { return nil }
    let time = Clock.monotonicMicroseconds &- writeStartedAt
    return time > AuditWriter.writeTimeout ? time : nil
  }

  package func popEvents() -> [Event] {
    shared.withLock { shared in
      defer { shared.events = [] }
      return shared.events
    }
  }

  /// Writes all later records to another file.
  package func change(to file: AuditFile) {
    shared.withLock { $0.next = file }
    signal.signal()
  }

  /// Lets `run` write the remaining records and return. Does not wait for `run`.
  package func close() {
    shared.withLock { $0.isClosing = true }
    signal.signal()
  }

  // MARK: the thread

  /// Writes all records. Returns after `close`.
  package func run() {
    encoder.withLock { encoder in
      if writeAll(&encoder) { report("opened") }
    }
    while true {
      let isClosing = shared.withLock { $0.isClosing }
      let isDone = encoder.withLock { step(&$0) }
      if isClosing {
        if isDone { encoder.withLock { end(&$0) } } else { encoder.withLock { reportLost($0) } }
        return
      }
      signal.wait(milliseconds: isDone ? nil : AuditWriter.retryMilliseconds)
    }
  }

  /// Writes all queued records, and returns `false` if this fails.
  private func step(_ encoder: inout AuditEncoder) -> Bool {
    if let next = shared.withLock({ $0.next.take() }) {
      encoder.change(to: next)
      shared.withLock { shared in
        (shared.status.path, shared.status.device, shared.status.inode) = (next.path, next.device, next.inode)
      }
      guard writeAll(&encoder) else { return false }
      report("opened")
    }
    while true {
      guard writeAll(&encoder) else { return false }
      let dropped = shared.withLock { shared in
        encoder.loadBatch(from: &shared.queue)
        shared.unwritten = encoder.pendingBytes
        defer { shared.dropped = 0 }
        return shared.dropped
      }
      if dropped > 0 { encoder.noteDropped(dropped) }
      if encoder.isIdle { return true }
    }
  }

  private func writeAll(_ encoder: inout AuditEncoder) -> Bool {
    shared.withLock { $0.writeStartedAt = Clock.monotonicMicroseconds }
    let error = encoder.write()
    let hasEvents = shared.withLock { shared in
      shared.writeStartedAt = nil
      let before = (count: shared.status.count, problem: shared.status.problem)
      let path = shared.status.path
      (shared.status.count, shared.status.head) = (encoder.writtenChain.count, encoder.writtenChain.head)
      shared.unwritten = encoder.pendingBytes
      shared.status.problem = error?.description
      if encoder.writtenChain.count / AuditWriter.anchorEvery > before.count / AuditWriter.anchorEvery {
        shared.events.append(shared.status.anchor("goes-on"))
      }
      if let error, before.problem == nil { shared.events.append(.failed(path: path, reason: error.description)) }
      if error == nil, before.problem != nil { shared.events.append(.recovered(path: path, dropped: shared.dropped)) }
      return !shared.events.isEmpty
    }
    if hasEvents { onNews() }
    return error == nil
  }

  private func report(_ state: String) {
    shared.withLock { $0.events.append($0.status.anchor(state)) }
    onNews()
  }

  // MARK: the end

  private func end(_ encoder: inout AuditEncoder) {
    encoder.noteEnd()
    guard writeAll(&encoder) else { return reportLost(encoder) }
    encoder.file.file.synchronize()
    report("closed")
  }

  private func reportLost(_ encoder: borrowing AuditEncoder) {
    let waiting = UInt64(encoder.pendingRecords)
    shared.withLock { shared in
      let queued = UInt64(shared.queue.count { $0 == UInt8(ascii: "\n") })
      let lost = waiting + queued + shared.dropped
      shared.events.append(.lost(path: shared.status.path, count: lost))
    }
    onNews()
  }
}
