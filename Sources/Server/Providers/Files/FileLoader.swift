internal import EventLoop
internal import Lifecycle
internal import Secrets
internal import Settings
internal import System

/// Reads secret files without blocking the loop (T55), each on its own thread.
final class FileLoader {
  private unowned let time: any WorkerTime
  private let threads: any WorkerThreads
  private let adder: DirectoryWatch.Adder?
  private let mustLock: () -> Bool
  private var reads: [SecretSource: Read] = [:] { didSet { isIdle = reads.isEmpty } }
  /// Whether no file is being read.
  private(set) var isIdle = true
  private var waiting = WaitingReads()
  /// Reads that have ended. A `result` is `nil` if no thread could be started, and `.some(nil)` if the file did not
  /// need to be read.
  private var results: [(read: Read, source: SecretSource, result: SecretFileSnapshot??)] = []
  private var quickThreads = 0
  private var hangingThreads = 0
  private var retries: [SecretSource: Retry] = [:]
  private let onRead: (SecretFileSnapshot, _ loggedOut: Set<String>) -> Void
  private let onDelay: (SecretSource, String?) -> Void

  /// Maximum number of threads, in all workers together, for reads that take less than `hangingThreshold`.
  private static let maxQuickThreads = 16
  /// Maximum number of threads, in all workers together, that wait for hanging files.
  private static let maxHangingThreads = 240
  /// Duration in milliseconds after which a read counts as hanging.
  private static let hangingThreshold: UInt64 = 50
  /// Maximum time in milliseconds that requests wait for a read.
  private static let maxWait: UInt64 = 1_000
  /// Delays in milliseconds before a file is read again after a transient failure.
  private static let backOff = BackOff(first: 100, longest: 10_000)

  private struct WaitingReads {
    private var all: [(source: SecretSource, read: Read)] = []
    /// Number of entries at the front of `all` that already have a thread.
    private var startedCount = 0

    mutating func append(_ source: SecretSource, _ read: Read) { all.append((source, read)) }

    mutating func popFirst() -> (source: SecretSource, read: Read)? {
      if startedCount == all.count { return nil }
      let first = all[startedCount]
      startedCount += 1
      if startedCount == all.count { (all, startedCount) = ([], 0) }
      return first
    }
  }

  /// A requested read of a file, and the HTTP requests that wait for the result.
  private struct ReadRequest {
    /// Paths of the new directory entries that caused the read. Empty if the read has another cause.
    var made: [String]
    var waits = WaitQueue<Wait>()
    /// Credentials that were logged out since the read was requested.
    var loggedOut: Set<String> = []
  }

  /// A read in progress, or one that waits for a thread.
  private final class Read: DeadlineOwner {
    var requestedAt: UInt64
    /// When a thread began to read, in milliseconds of the loop's clock. `nil` if no thread has begun.
    var startedAt: UInt64?
    var isHanging = false
    /// Whether the read takes so long that requests no longer wait for the file.
    var isSlow = false
    var request: ReadRequest
    /// The next read of the file. `nil` unless the file has changed during this read.
    var next: ReadRequest?
    private let onDeadline: (Read) -> Void

    init(_ request: ReadRequest, at now: UInt64, onDeadline: @escaping (Read) -> Void) {
      self.request = request
      requestedAt = now
      self.onDeadline = onDeadline
    }

    override func deadlinePassed() { onDeadline(self) }
  }

  /// Reads a file again, after a delay, if a read has failed transiently, for example from a lack of memory.
  private struct Retry {
    var failures = 0
    let call: DeadlineCall
  }

  final class Wait: SecretWait {
    fileprivate var count = 0

    fileprivate func decrement() {
      count -= 1
      if count == 0 { end() }
    }
  }

  /// - Parameters:
  ///   - adder: adds inotify watches before a read. `nil` to add none.
  ///   - mustLock: whether a read that begins now fails if its memory cannot be locked.
  ///   - onRead: called with each result, and with the credentials that were logged out since the read was requested.
  ///   - onDelay: called with a reason if a file cannot be read yet, or with `nil` if it did not need to be read.
  init(
    time: any WorkerTime, threads: any WorkerThreads, adder: DirectoryWatch.Adder?,
    mustLock: @escaping () -> Bool,
    onRead: @escaping (SecretFileSnapshot, _ loggedOut: Set<String>) -> Void,
    onDelay: @escaping (SecretSource, String?) -> Void
  ) {
    self.time = time
    self.threads = threads
    self.adder = adder
    self.mustLock = mustLock
    self.onRead = onRead
    self.onDelay = onDelay
  }

  /// Reads a file on another thread. If the file is being read, reads it again afterward.
  /// - Parameter made: paths of the new directory entries that caused the read.
  func read(_ source: SecretSource, made: [String] = []) {
    if let read = reads[source] {
      guard var next = read.next else { return read.next = ReadRequest(made: made) }
      next.made = made.isEmpty || next.made.isEmpty ? [] : next.made + made
      read.next = next
      return
    }
    start(ReadRequest(made: made), source)
  }

  private func start(_ request: ReadRequest, _ source: SecretSource) {
    let read = Read(request, at: time.now) { [unowned self] in deadlinePassed($0, source) }
    reads[source] = read
    waiting.append(source, read)
    startWaiting()
    schedule(read)
  }

  /// Marks all current and requested reads of these files as older than the credential's logout.
  func logOut(_ credential: String, files: some Sequence<SecretSource>) {
    for case let read? in files.map({ reads[$0] }) {
      read.request.loggedOut.insert(credential)
      read.next?.loggedOut.insert(credential)
    }
  }

  /// Files for which requests wait, because they are being read. Excludes slow reads.
  var pending: Set<SecretSource> { Set(reads.keys.filter { reads[$0]?.isSlow == false }) }

  /// Cancels the retries of all files except `wanted`.
  func keep(only wanted: Set<SecretSource>) {
    for source in retries.keys where !wanted.contains(source) { cancelRetry(source) }
  }

  /// Calls `onEnd` once, later, when these files have been read or take too long. If none is being read, returns `nil`
  /// and never calls `onEnd`.
  func wait(for sources: some Sequence<SecretSource>, onEnd: @escaping () -> Void) -> SecretWait? {
    let wait = Wait(onEnd: onEnd)
    for case let read? in sources.map({ reads[$0] }) where !read.isSlow {
      wait.count += 1
      if read.next == nil { read.request.waits.append(wait) } else { read.next?.waits.append(wait) }
    }
    return wait.count > 0 ? wait : nil
  }

  func close() {
    for read in reads.values { time.cancel(read) }
    for source in retries.keys { cancelRetry(source) }
    (reads, waiting, results) = ([:], WaitingReads(), [])
    threads.close()
  }

  private func startWaiting() {
    while quickThreads < time.share(of: Self.maxQuickThreads), let (source, read) = waiting.popFirst() {
      quickThreads += 1
      read.startedAt = time.now
      schedule(read)
      let (made, adder, mustLock) = (read.request.made, adder, mustLock())
      threads.run {
        guard made.isEmpty || made.contains(where: DirectoryWatch.isLink) else { return nil }
        return SecretFileSnapshot(of: source, watchedBy: adder, mustLock: mustLock)
      } onEnd: { [unowned self] result in
        enqueue(read, source, result)
      }
    }
  }

  private func enqueue(_ read: Read, _ source: SecretSource, _ result: SecretFileSnapshot??) {
    results.append((read, source, result))
    guard results.count == 1 else { return }
    time.runIncrementally { [weak self] in self?.processResults(while: $0) ?? true }
  }

  private func processResults(while hasTime: () -> Bool) -> Bool {
    var count = 0
    while count < results.count {
      let (read, source, result) = results[count]
      count += 1
      ended(read, source, result)
      if !hasTime() { break }
    }
    results.removeFirst(min(count, results.count))
    return results.isEmpty
  }

  private func ended(_ read: Read, _ source: SecretSource, _ result: SecretFileSnapshot??) {
    if read.isHanging { hangingThreads -= 1 } else { quickThreads -= 1 }
    time.cancel(read)
    reads[source] = nil
    if let next = read.next { start(next, source) }
    switch result {
    case .some(.some(let reading)):
      onRead(reading, read.request.loggedOut)
      if reading.isTransient { scheduleRetry(source) } else { cancelRetry(source) }
    case .some(.none): onDelay(source, nil)
    case .none:
      onDelay(source, "is not read: bearerd cannot start a thread for it")
      scheduleRetry(source)
    }
    startWaiting()
    if let nextRead = reads[source], !nextRead.isSlow, !read.request.waits.isEmpty {
      // The content is outdated. Its requests wait for the next read, but not longer in total.
      nextRead.request.waits.append(read.request.waits)
      nextRead.requestedAt = min(nextRead.requestedAt, read.requestedAt)
      return schedule(nextRead)
    }
    for wait in read.request.waits.drain() { wait.decrement() }
  }

  // MARK: slow files

  private func schedule(_ read: Read) {
    let hangingAt = read.isHanging ? nil : read.startedAt.map { max($0, time.now) + Self.hangingThreshold }
    let slowAt = read.isSlow ? nil : read.requestedAt + Self.maxWait
    if let next = [hangingAt, slowAt].compactMap(\.self).min() { time.schedule(read, at: next) }
  }

  private func deadlinePassed(_ read: Read, _ source: SecretSource) {
    let now = time.now
    if let startedAt = read.startedAt, now >= startedAt + Self.hangingThreshold, !read.isHanging,
      hangingThreads < time.share(of: Self.maxHangingThreads)
    {
      read.isHanging = true
      quickThreads -= 1
      hangingThreads += 1
      startWaiting()
    }
    if now >= read.requestedAt + Self.maxWait, !read.isSlow { becameSlow(read, source) }
    // `becameSlow` may have ended the read.
    if reads[source] === read { schedule(read) }
  }

  private func becameSlow(_ read: Read, _ source: SecretSource) {
    read.isSlow = true
    onDelay(source, "is still being read")
    let waits = read.request.waits.drain() + (read.next?.waits.drain() ?? [])
    for wait in waits { wait.decrement() }
  }

  // MARK: retries

  private func scheduleRetry(_ source: SecretSource) {
    var retry = retries[source] ?? Retry(call: DeadlineCall { [unowned self] in read(source) })
    retry.failures += 1
    retries[source] = retry
    time.schedule(retry.call, at: time.now + Self.backOff.time(after: retry.failures))
  }

  private func cancelRetry(_ source: SecretSource) {
    if let retry = retries.removeValue(forKey: source) { time.cancel(retry.call) }
  }
}
