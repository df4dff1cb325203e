internal import Credentials
internal import EventLoop
internal import System

/// Reads files of secrets beside the loop (T55): each on a thread of its own, so that one that hangs delays no other; none
/// twice at once, so that of several changes the last one counts, and never more threads than files.
final class SecretReads {
  private unowned let worker: Worker
  private let beside: BesideLoop
  private let adder: DirectoryWatch.Adder?
  private let files: SecretFiles
  private var reads: [SecretSource: Read] = [:]
  private var inFlight = 0
  private let onRead: (SecretReading) -> Void
  private let onDelay: (SecretSource, String) -> Void

  /// Threads.
  private static let limit = 64
  /// Milliseconds for which requests wait for a file that is being read. Nearly all take less than one.
  private static let patience: UInt64 = 1_000

  /// What is being read, or is to be once there is a thread for it.
  private final class Read: Timed {
    var hasThread = false
    /// Nobody waits for it any more.
    var isSlow = false
    /// Names of which one has to be a link; none: it is read anyway.
    var made: [String]
    /// It changed meanwhile, and is read once more.
    var next: [String]?
    var waits: [Wait] = []
    var nextWaits: [Wait] = []
    private let onDelay: (Read) -> Void

    init(_ made: [String], onDelay: @escaping (Read) -> Void) {
      self.made = made
      self.onDelay = onDelay
    }

    override func deadlinePassed() { onDelay(self) }
  }

  final class Wait: SecretWait {
    fileprivate var count = 0

    fileprivate func oneLess() {
      count -= 1
      if count == 0 { end() }
    }
  }

  /// - Parameters:
  ///   - onRead: takes what was read, in the order of a file's changes.
  ///   - onDelay: a file takes long, and why.
  init(
    worker: Worker, adder: DirectoryWatch.Adder?, files: SecretFiles, onRead: @escaping (SecretReading) -> Void,
    onDelay: @escaping (SecretSource, String) -> Void
  ) {
    self.worker = worker
    self.adder = adder
    self.files = files
    self.onRead = onRead
    self.onDelay = onDelay
    beside = BesideLoop(loop: worker.loop)
  }

  /// Those that somebody may still wait for.
  var pending: Set<SecretSource> { Set(reads.filter { !$0.value.isSlow }.keys) }
  var isIdle: Bool { reads.isEmpty }

  /// - Parameter made: names that have just been made: unless one of them is a link, there is nothing to read yet.
  func read(_ source: SecretSource, made: [String] = []) {
    if let read = reads[source] {
      let isBoth = !made.isEmpty && read.next?.isEmpty != true
      read.next = isBoth ? (read.next ?? []) + made : []
      return
    }
    let read = Read(made) { [unowned self] in tookLong($0, source) }
    reads[source] = read
    worker.deadlines.schedule(read, at: worker.loop.now + Self.patience)
    startWaiting()
  }

  /// Calls `onEnd` once, never from within this call: what these files held when it was asked for has been read, or takes too
  /// long. nil: there is nothing to wait for.
  func wait(for sources: some Sequence<SecretSource>, onEnd: @escaping () -> Void) -> SecretWait? {
    let wait = Wait(onEnd: onEnd)
    for case let read? in sources.map({ reads[$0] }) where !read.isSlow {
      wait.count += 1
      if read.next == nil { read.waits.append(wait) } else { read.nextWaits.append(wait) }
    }
    return wait.count > 0 ? wait : nil
  }

  func close() {
    for read in reads.values { worker.deadlines.cancel(read) }
    reads = [:]
    beside.close()
  }

  private func startWaiting() {
    for (source, read) in reads where !read.hasThread && inFlight < Self.limit {
      inFlight += 1
      read.hasThread = true
      let (made, adder, mustLock) = (read.made, adder, files.mustLock)
      beside.run {
        guard made.isEmpty || made.contains(where: DirectoryWatch.isLink) else { return nil }
        return SecretReading(of: source, watchedBy: adder, mustLock: mustLock)
      } onEnd: { [unowned self] result in
        ended(read, source, result)
      }
    }
  }

  private func ended(_ read: Read, _ source: SecretSource, _ result: SecretReading??) {
    inFlight -= 1
    worker.deadlines.cancel(read)
    reads[source] = nil
    if let made = read.next {
      self.read(source, made: made)
      reads[source]?.waits = read.nextWaits
    }
    switch result {
    case .some(.some(let reading)): onRead(reading)
    case .some(.none): break
    case .none: onDelay(source, "is not read: the system has no thread for it")
    }
    startWaiting()
    for wait in read.waits { wait.oneLess() }
  }

  private func tookLong(_ read: Read, _ source: SecretSource) {
    read.isSlow = true
    onDelay(source, "is still being read")
    let waits = read.waits + read.nextWaits
    (read.waits, read.nextWaits) = ([], [])
    for wait in waits { wait.oneLess() }
  }
}
