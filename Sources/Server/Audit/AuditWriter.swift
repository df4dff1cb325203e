internal import Synchronization
internal import System

/// Between the loop, which hands over records and waits for nothing, and the thread that writes them (`run`).
///
/// Bounded: what there is no room for is dropped, counted, and said in the file itself when it can be written again.
package final class AuditWriter: Sendable {
  package struct Status: Sendable {
    package var path: String
    package var device: UInt64
    package var inode: UInt64
    /// Number and chain value of the last record in the file.
    package var count: UInt64
    package var head: ChainHash
    /// Records since the start for which there was no room.
    package var dropped: UInt64
    /// Why the last write failed; nil: it did not.
    package var problem: String?
  }

  /// News of the file for those outside of it.
  package enum News: Sendable {
    /// The file ended, or ends, with this record.
    case anchor(state: String, path: String, count: UInt64, head: ChainHash)
    case failed(path: String, reason: String)
    case works(path: String, dropped: UInt64)
    /// The end has come, and so many records never got into the file.
    case lost(path: String, count: UInt64)
  }

  private struct Shared: Sendable {
    var queue: [UInt8] = []
    /// Bytes that the thread has, and the file has not.
    var taken = 0
    /// Since the last record that says so.
    var dropped: UInt64 = 0
    var next: AuditFile?
    var isClosing = false
    /// The monotonic clock, in microseconds, when the file was asked to take something; nil: it has answered.
    var askedAt: UInt64?
    var status: Status
    var news: [News] = []
  }

  private let shared: Guarded<Shared>
  private let pen: Mutex<AuditEncoder>
  private let signal = ThreadSignal()
  private let onNews: @Sendable () -> Void

  /// Bytes that may wait. What was promised may go beyond: no flood of requests that go nowhere takes its room.
  private static let limit = 1 << 20
  private static let dependableLimit = limit / 2 * 3
  /// So that who renames, shortens or rewrites the file has to forge the log as well.
  private static let anchorEvery: UInt64 = 10_000
  private static let retryMilliseconds = 1_000
  /// Microseconds after which a file that has not answered counts as one that refuses.
  private static let patience: UInt64 = 2_000_000

  /// A caller that asks after `patience` whether it works is told if `run` has not written anything by then.
  /// - Parameter onNews: called on any thread, when `takeNews` has some.
  package init(_ file: AuditFile, version: String, onNews: @escaping @Sendable () -> Void) {
    let pen = AuditEncoder(file, version: version)
    let status = Status(
      path: file.path, device: file.device, inode: file.inode, count: pen.settled.count, head: pen.settled.head,
      dropped: 0)
    shared = Guarded(Shared(askedAt: Clock.monotonicMicroseconds, status: status))
    self.pen = Mutex(pen)
    self.onNews = onNews
  }

  // MARK: for the loop

  /// A record behind those that wait. `wake` has to follow.
  /// - Parameter isPromised: there is room for it whatever there is. Of these there may only be so many.
  package func append(_ time: Span<UInt8>, _ record: Span<UInt8>, isPromised: Bool) {
    shared.withLock { shared in
      guard isPromised || shared.queue.count + shared.taken < AuditWriter.limit else {
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

  package func wake() { signal.give() }

  /// The last write went well, none hangs, and little waits beyond what has room without a promise.
  package var isDependable: Bool {
    shared.withLock { shared in
      shared.status.problem == nil && AuditWriter.silence(shared) == nil
        && shared.queue.count + shared.taken <= AuditWriter.dependableLimit
    }
  }

  package var status: Status {
    shared.withLock { shared in
      var status = shared.status
      if let silence = AuditWriter.silence(shared) {
        status.problem = "the file system has not responded for \(silence / 1_000_000) s"
      }
      return status
    }
  }

  /// For how many microseconds the file has not answered; nil: for no longer than it may.
  private static func silence(_ shared: borrowing Shared) -> UInt64? {
    guard let askedAt = shared.askedAt else { return nil }
    let time = Clock.monotonicMicroseconds &- askedAt
    return time > AuditWriter.patience ? time : nil
  }

  package func takeNews() -> [News] {
    shared.withLock { shared in
      defer { shared.news = [] }
      return shared.news
    }
  }

  /// Further records go to another file.
  package func change(to file: AuditFile) {
    shared.withLock { $0.next = file }
    signal.give()
  }

  /// Lets `run` return when all is written, or cannot be.
  package func close() {
    shared.withLock { $0.isClosing = true }
    signal.give()
  }

  // MARK: the thread

  /// Writes the record that says the file was opened, and all that comes. Returns after `close`.
  package func run() {
    pen.withLock { pen in
      if writeAll(&pen) { report("opened") }
    }
    while true {
      let isClosing = shared.withLock { $0.isClosing }
      let isDone = pen.withLock { step(&$0) }
      if isClosing {
        if isDone { pen.withLock { end(&$0) } } else { pen.withLock { giveUp($0) } }
        return
      }
      signal.wait(milliseconds: isDone ? nil : AuditWriter.retryMilliseconds)
    }
  }

  /// Writes what there is. False: it cannot.
  private func step(_ pen: inout AuditEncoder) -> Bool {
    if let next = shared.withLock({ $0.next.take() }) {
      pen.change(to: next)
      shared.withLock { shared in
        (shared.status.path, shared.status.device, shared.status.inode) = (next.path, next.device, next.inode)
      }
      guard writeAll(&pen) else { return false }
      report("opened")
    }
    while true {
      guard writeAll(&pen) else { return false }
      let dropped = shared.withLock { shared in
        pen.take(&shared.queue)
        shared.taken = pen.waiting
        defer { shared.dropped = 0 }
        return shared.dropped
      }
      if dropped > 0 { pen.noteDropped(dropped) }
      if pen.isIdle { return true }
    }
  }

  private func writeAll(_ pen: inout AuditEncoder) -> Bool {
    shared.withLock { $0.askedAt = Clock.monotonicMicroseconds }
    let error = pen.write()
    let hasNews = shared.withLock { shared in
      shared.askedAt = nil
      let before = (count: shared.status.count, problem: shared.status.problem)
      let path = shared.status.path
      (shared.status.count, shared.status.head) = (pen.settled.count, pen.settled.head)
      shared.taken = pen.waiting
      shared.status.problem = error?.description
      if pen.settled.count / AuditWriter.anchorEvery > before.count / AuditWriter.anchorEvery {
        shared.news.append(shared.status.anchor("goes-on"))
      }
      if let error, before.problem == nil { shared.news.append(.failed(path: path, reason: error.description)) }
      if error == nil, before.problem != nil { shared.news.append(.works(path: path, dropped: shared.dropped)) }
      return !shared.news.isEmpty
    }
    if hasNews { onNews() }
    return error == nil
  }

  private func report(_ state: String) {
    shared.withLock { $0.news.append($0.status.anchor(state)) }
    onNews()
  }

  // MARK: the end

  private func end(_ pen: inout AuditEncoder) {
    pen.noteEnd()
    guard writeAll(&pen) else { return giveUp(pen) }
    pen.synchronise()
    report("closed")
  }

  private func giveUp(_ pen: borrowing AuditEncoder) {
    let waiting = UInt64(pen.waitingRecords)
    shared.withLock { shared in
      let queued = UInt64(shared.queue.count { $0 == UInt8(ascii: "\n") })
      let lost = waiting + queued + shared.dropped
      shared.news.append(.lost(path: shared.status.path, count: lost))
    }
    onNews()
  }
}

extension AuditWriter.Status {
  fileprivate func anchor(_ state: String) -> AuditWriter.News {
    .anchor(state: state, path: path, count: count, head: head)
  }
}
