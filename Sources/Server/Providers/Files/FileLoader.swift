internal import EventLoop
internal import Lifecycle
internal import Secrets
internal import System
internal import Transport

/// Reads files of secrets beside the loop (T55): each on a thread of its own, so that one that hangs delays no other; none
/// twice at once, so that of several changes the last one counts, and never more threads than files.
final class FileLoader {
  private unowned let providers: CredentialProviders
  private let blocking: BlockingTasks
  private let adder: DirectoryWatch.Adder?
  private let files: FileValues
  private var reads: [SecretSource: Read] = [:] { didSet { isIdle = reads.isEmpty } }
  /// Nothing is being read. Asked at each request, which must not look into what changes.
  private(set) var isIdle = true
  private var waiting = WaitingReads()
  /// The results that threads have brought, in their order. Taken over bit by bit: hundreds may come at once.
  private var brought: [(read: Read, source: SecretSource, result: SecretFileSnapshot??)] = []
  /// Number of threads whose file has not taken long yet.
  private var quickThreads = 0
  /// Number of threads whose file does not answer.
  private var hangingThreads = 0
  private var retries: [SecretSource: Retry] = [:]
  private let onRead: (SecretFileSnapshot, _ loggedOut: Set<String>) -> Void
  private let onDelay: (SecretSource, String?) -> Void

  /// Threads for files that have not taken long yet, of all workers together. Each has a page of locked memory.
  private static let mostQuick = 16
  /// Threads for files that do not answer: as long as there are no more, they hold up no other. With the threads that look
  /// names up, and those that a start leaves behind, they are fewer than TasksMax= of the unit.
  private static let mostHanging = 240
  /// Milliseconds after which a file counts among them.
  private static let longTime: UInt64 = 50
  /// Milliseconds for which requests wait for a file that is being read. Nearly all take less than one.
  private static let patience: UInt64 = 1_000
  /// Until a file is read again that could not be read just then.
  private static let backOff = BackOff(first: 100, longest: 10_000)

  /// Reads that have no thread yet, in the order in which they were asked for.
  private struct WaitingReads {
    private var all: [(source: SecretSource, read: Read)] = []
    /// How many of them have a thread by now.
    private var begun = 0

    mutating func append(_ source: SecretSource, _ read: Read) { all.append((source, read)) }

    /// nil: none is left.
    mutating func takeFirst() -> (source: SecretSource, read: Read)? {
      if begun == all.count { return nil }
      let first = all[begun]
      begun += 1
      if begun == all.count { (all, begun) = ([], 0) }
      return first
    }
  }

  /// One reading of a file, and the requests that wait for it.
  private struct Demand {
    /// Names of which one has to be a link; none: the file is read anyway.
    var made: [String]
    var waits = WaitQueue<Wait>()
    /// Credentials that have been logged out since it was asked for.
    var loggedOut: Set<String> = []
  }

  /// A file that is being read, or is to be once there is a thread for it.
  private final class Read: Timed {
    var askedAt: UInt64
    /// nil: it has no thread.
    var startedAt: UInt64?
    var isHanging = false
    /// Whether requests no longer wait for the file.
    var isSlow = false
    var demand: Demand
    /// The file changed meanwhile, and is read once more.
    var next: Demand?
    private let onDeadline: (Read) -> Void

    init(_ demand: Demand, at now: UInt64, onDeadline: @escaping (Read) -> Void) {
      self.demand = demand
      askedAt = now
      self.onDeadline = onDeadline
    }

    override func deadlinePassed() { onDeadline(self) }
  }

  /// Something was short when it was read, and no change will tell when it is there again.
  private final class Retry: Timed {
    var failures = 0
    private let onDue: () -> Void

    init(onDue: @escaping () -> Void) { self.onDue = onDue }

    override func deadlinePassed() { onDue() }
  }

  final class Wait: SecretWait {
    fileprivate var count = 0

    fileprivate func oneLess() {
      count -= 1
      if count == 0 { end() }
    }
  }

  /// - Parameters:
  ///   - onRead: takes what was read, in the order of a file's changes, and the credentials that were logged out since
  ///     that was asked for.
  ///   - onDelay: a file takes long, and why; nil: there was nothing to read, and no request need wait for that any more.
  init(
    providers: CredentialProviders, adder: DirectoryWatch.Adder?, files: FileValues,
    onRead: @escaping (SecretFileSnapshot, _ loggedOut: Set<String>) -> Void,
    onDelay: @escaping (SecretSource, String?) -> Void
  ) {
    self.providers = providers
    self.adder = adder
    self.files = files
    self.onRead = onRead
    self.onDelay = onDelay
    blocking = BlockingTasks(loop: providers.loop)
  }

  /// - Parameter made: names that have just been made: unless one of them is a link, there is nothing to read yet.
  func read(_ source: SecretSource, made: [String] = []) {
    if let read = reads[source] {
      guard var next = read.next else { return read.next = Demand(made: made) }
      next.made = made.isEmpty || next.made.isEmpty ? [] : next.made + made
      read.next = next
      return
    }
    start(Demand(made: made), source)
  }

  private func start(_ demand: Demand, _ source: SecretSource) {
    let read = Read(demand, at: providers.loop.now) { [unowned self] in deadlinePassed($0, source) }
    reads[source] = read
    waiting.append(source, read)
    startWaiting()
    schedule(read)
  }

  /// A credential is logged out. A reading of its files that is under way brings what they held before.
  func logOut(_ credential: String, files: some Sequence<SecretSource>) {
    for case let read? in files.map({ reads[$0] }) {
      read.demand.loggedOut.insert(credential)
      read.next?.loggedOut.insert(credential)
    }
  }

  /// Files that requests may still wait for.
  var pending: Set<SecretSource> { Set(reads.keys.filter { reads[$0]?.isSlow == false }) }

  /// Forgets all other files: they are not used any more.
  func keep(only wanted: Set<SecretSource>) {
    for source in retries.keys where !wanted.contains(source) { endRetry(source) }
  }

  /// Calls `onEnd` once, never from within this call: what these files held when it was asked for has been read, or takes too
  /// long. nil: there is nothing to wait for.
  func wait(for sources: some Sequence<SecretSource>, onEnd: @escaping () -> Void) -> SecretWait? {
    let wait = Wait(onEnd: onEnd)
    for case let read? in sources.map({ reads[$0] }) where !read.isSlow {
      wait.count += 1
      if read.next == nil { read.demand.waits.append(wait) } else { read.next?.waits.append(wait) }
    }
    return wait.count > 0 ? wait : nil
  }

  func close() {
    for read in reads.values { providers.deadlines.cancel(read) }
    for source in retries.keys { endRetry(source) }
    (reads, waiting, brought) = ([:], WaitingReads(), [])
    blocking.close()
  }

  private func startWaiting() {
    while quickThreads < providers.context.share(of: Self.mostQuick), let (source, read) = waiting.takeFirst() {
      quickThreads += 1
      read.startedAt = providers.loop.now
      schedule(read)
      let (made, adder, mustLock) = (read.demand.made, adder, files.mustLock)
      blocking.run {
        guard made.isEmpty || made.contains(where: DirectoryWatch.isLink) else { return nil }
        return SecretFileSnapshot(of: source, watchedBy: adder, mustLock: mustLock)
      } onEnd: { [unowned self] result in
        bring(read, source, result)
      }
    }
  }

  private func bring(_ read: Read, _ source: SecretSource, _ result: SecretFileSnapshot??) {
    brought.append((read, source, result))
    guard brought.count == 1 else { return }
    providers.loop.inPieces { [weak self] in self?.takeOver(while: $0) ?? true }
  }

  private func takeOver(while hasTime: () -> Bool) -> Bool {
    var count = 0
    while count < brought.count {
      let (read, source, result) = brought[count]
      count += 1
      ended(read, source, result)
      if !hasTime() { break }
    }
    brought.removeFirst(min(count, brought.count))
    return brought.isEmpty
  }

  private func ended(_ read: Read, _ source: SecretSource, _ result: SecretFileSnapshot??) {
    if read.isHanging { hangingThreads -= 1 } else { quickThreads -= 1 }
    providers.deadlines.cancel(read)
    reads[source] = nil
    if let next = read.next { start(next, source) }
    switch result {
    case .some(.some(let reading)):
      onRead(reading, read.demand.loggedOut)
      if reading.isPassing { tryAgain(source) } else { endRetry(source) }
    case .some(.none): onDelay(source, nil)
    case .none:
      onDelay(source, "is not read: bearerd cannot start a thread for it")
      tryAgain(source)
    }
    startWaiting()
    if let again = reads[source], !again.isSlow, !read.demand.waits.isEmpty {
      // The content that was read is not in use: its requests wait on, for as long as they were going to.
      again.demand.waits.append(read.demand.waits)
      again.askedAt = min(again.askedAt, read.askedAt)
      return schedule(again)
    }
    for wait in read.demand.waits.takeAll() { wait.oneLess() }
  }

  // MARK: what takes long

  private func schedule(_ read: Read) {
    let hangingAt = read.isHanging ? nil : read.startedAt.map { max($0, providers.loop.now) + Self.longTime }
    let slowAt = read.isSlow ? nil : read.askedAt + Self.patience
    if let next = [hangingAt, slowAt].compactMap(\.self).min() { providers.deadlines.schedule(read, at: next) }
  }

  private func deadlinePassed(_ read: Read, _ source: SecretSource) {
    let now = providers.loop.now
    if let startedAt = read.startedAt, now >= startedAt + Self.longTime, !read.isHanging,
      hangingThreads < providers.context.share(of: Self.mostHanging)
    {
      read.isHanging = true
      quickThreads -= 1
      hangingThreads += 1
      startWaiting()
    }
    if now >= read.askedAt + Self.patience, !read.isSlow { tookLong(read, source) }
    // Its file may have been read in that call.
    if reads[source] === read { schedule(read) }
  }

  private func tookLong(_ read: Read, _ source: SecretSource) {
    read.isSlow = true
    onDelay(source, "is still being read")
    let waits = read.demand.waits.takeAll() + (read.next?.waits.takeAll() ?? [])
    for wait in waits { wait.oneLess() }
  }

  // MARK: what is short

  private func tryAgain(_ source: SecretSource) {
    let retry = retries[source] ?? Retry { [unowned self] in read(source) }
    retries[source] = retry
    retry.failures += 1
    providers.deadlines.schedule(retry, at: providers.loop.now + Self.backOff.time(after: retry.failures))
  }

  private func endRetry(_ source: SecretSource) {
    if let retry = retries.removeValue(forKey: source) { providers.deadlines.cancel(retry) }
  }
}
