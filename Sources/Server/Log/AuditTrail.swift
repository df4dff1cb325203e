package import Audit
package import Configuration
package import EventLoop
internal import System

/// The audit file that the configuration asks for, the thread that writes it, and what the log says of both (T58).
///
/// The loop waits for no file system (T55): files are opened where a reload is prepared, and a thread that is not needed any
/// more says when it has ended.
package final class AuditTrail {
  /// A thread, and the file that it writes.
  private final class Scribe {
    let writer: AuditWriter
    let wakeup: Wakeup
    private let thread: BackgroundThread
    private let hasEnded = ThreadSignal()

    init(_ file: AuditFile, loop: Loop, onNews: @escaping (Scribe) -> Void) throws(StartError) {
      let box = Weak()
      let wakeup: Wakeup
      do throws(UVError) {
        wakeup = try Wakeup(loop: loop) { if let scribe = box.scribe { onNews(scribe) } }
      } catch {
        throw .system(error.description)
      }
      let writer = AuditWriter(file, version: ProgramVersion.text) { wakeup.wake() }
      (self.writer, self.wakeup) = (writer, wakeup)
      thread = BackgroundThread { [hasEnded] in
        writer.run()
        hasEnded.give()
        wakeup.wake()
      }
      guard thread.isStarted else {
        wakeup.close()
        throw .system("audit file \(file.path): bearerd cannot start a thread to write it")
      }
      box.scribe = self
    }

    private final class Weak { weak var scribe: Scribe? }

    /// Whether it has, within the time.
    func hasEnded(within milliseconds: Int) -> Bool {
      guard hasEnded.wait(milliseconds: milliseconds) else { return false }
      thread.join()
      wakeup.close()
      return true
    }

    /// Not waited for any longer: it ends with the process.
    func abandon() { wakeup.close() }
  }

  private let loop: Loop
  private let log: EventLog
  private var scribe: Scribe?
  /// No longer wanted, and perhaps still in some worker's hand.
  private var dismissed: [Scribe] = []
  /// They write what was handed over, and nothing more comes.
  private var leaving: [Scribe] = []
  /// The file that is being written.
  package private(set) var file: AuditFile?
  /// Milliseconds for which the end of the process waits for disks.
  private static let patience: UInt64 = 10_000

  package init(loop: Loop, log: EventLog) {
    self.loop = loop
    self.log = log
  }

  /// The change that a configuration asks for, once it is sure that it will be used.
  package enum Change: Sendable {
    case none
    case keep(AuditSettings)
    case open(AuditFile, AuditSettings)

    /// Opens the file, unless it is `current` and still in its place. Asks file systems.
    package init(for audit: AuditSettings?, of configuration: String, from current: AuditFile?) throws(StartError) {
      guard let settings = audit else {
        self = .none
        return
      }
      if let current, current.path == settings.file, current.isInPlace {
        self = .keep(settings)
        return
      }
      do throws(AuditFileError) {
        self = .open(try AuditFile(path: settings.file), settings)
      } catch {
        // A problem that passes by itself is one after which a start may try again.
        guard !error.isPassing else { throw .system(error.description) }
        throw .configuration([.about(file: configuration, "audit.file: \(error)", help: error.help)])
      }
    }
  }

  package func adopt(_ change: Change) throws(StartError) {
    switch change {
    case .none: leave()
    case .keep(let settings): follow(settings)
    case .open(let file, let settings):
      if let scribe {
        scribe.writer.change(to: file)
      } else {
        scribe = try Scribe(file, loop: loop) { [unowned self] in heard($0) }
      }
      self.file = file
      follow(settings)
    }
  }

  /// No worker has one any more that this configuration does not want.
  package func settle() {
    for scribe in dismissed { scribe.writer.close() }
    leaving += dismissed
    dismissed = []
  }

  /// Nothing goes to an upstream any more: all that is left is written, if the disk takes it in time.
  package func close() {
    leave()
    settle()
    let deadline = Clock.monotonicMicroseconds / 1_000 + AuditTrail.patience
    for scribe in leaving {
      let now = Clock.monotonicMicroseconds / 1_000
      let hasEnded = scribe.hasEnded(within: Int(clamping: deadline > now ? deadline - now : 0))
      tell(scribe)
      guard !hasEnded else { continue }
      scribe.abandon()
      log.event(.auditLost, ("detail", "the disk does not respond, and the waiting records are lost"))
    }
    leaving = []
  }

  private func follow(_ settings: AuditSettings) {
    log.use(audit: scribe?.writer, required: settings.isRequired ? scribe?.writer : nil)
  }

  private func leave() {
    log.use(audit: nil, required: nil)
    if let scribe { dismissed.append(scribe) }
    (scribe, file) = (nil, nil)
  }

  private func heard(_ scribe: Scribe) {
    tell(scribe)
    if leaving.contains(where: { $0 === scribe }), scribe.hasEnded(within: 0) { leaving.removeAll { $0 === scribe } }
  }

  private func tell(_ scribe: Scribe) {
    for news in scribe.writer.takeNews() {
      switch news {
      case .anchor(let state, let path, let count, let head):
        log.event(.audit, ("state", state), ("file", path), ("n", String(count)), ("chain", head.description))
      case .failed(let path, let reason):
        log.event(
          .auditFailed, ("file", path), ("detail", reason),
          (
            "help",
            "records wait in memory, and bearerd tries again each second. With required: true, new requests get 503 until then"
          ))
      case .works(let path, let dropped):
        log.event(.auditWorks, ("file", path), ("dropped", String(dropped)))
      case .lost(let path, let count):
        log.event(.auditLost, ("file", path), ("records", String(count)))
      }
    }
  }
}
