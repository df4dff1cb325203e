package import Audit
package import Configuration
package import EventLoop
package import Settings
internal import StatusModel
internal import System

/// Manages the configured audit file and the thread that writes it (T55). Logs their events (T58).
package final class AuditTrail {
  private final class WriterThread {
    let writer: AuditWriter
    let wakeup: Wakeup
    private let thread: BackgroundThread
    private let hasEnded = ThreadSignal()

    init(_ file: AuditFile, loop: Loop, onEvent: @escaping (WriterThread) -> Void) throws(StartError) {
      let box = Weak()
      let wakeup: Wakeup
      do throws(UVError) {
        wakeup = try Wakeup(loop: loop) { if let writerThread = box.writerThread { onEvent(writerThread) } }
      } catch {
        throw .system(error.description)
      }
      let writer = AuditWriter(file, version: ProgramVersion.text) { wakeup.wake() }
      (self.writer, self.wakeup) = (writer, wakeup)
      thread = BackgroundThread { [hasEnded] in
        writer.run()
        hasEnded.signal()
        wakeup.wake()
      }
      guard thread.isStarted else {
        wakeup.close()
        throw .system("audit file \(file.path): bearerd cannot start a thread to write it")
      }
      box.writerThread = self
    }

    private final class Weak { weak var writerThread: WriterThread? }

    /// Waits for the thread. Returns `false` if it did not end in time.
    func hasEnded(within milliseconds: Int) -> Bool {
      guard hasEnded.wait(milliseconds: milliseconds) else { return false }
      thread.join()
      wakeup.close()
      return true
    }

    /// Stops waiting for the thread, which ends with the process.
    func abandon() { wakeup.close() }
  }

  private let loop: Loop
  private let log: EventLog
  private var writerThread: WriterThread?
  /// Threads that the configuration no longer needs, but that workers may still use.
  private var retired: [WriterThread] = []
  /// Threads that write their last records.
  private var closing: [WriterThread] = []
  package private(set) var file: AuditFile?
  /// Maximum time in milliseconds to wait for the disk at shutdown.
  private static let closeTimeout: UInt64 = 10_000

  package init(loop: Loop, log: EventLog) {
    self.loop = loop
    self.log = log
  }

  package enum Change: Sendable {
    case none
    case keep(AuditSettings)
    case open(AuditFile, AuditSettings)

    /// Opens the audit file, unless `current` is already this file. Blocks.
    /// - Parameter configuration: the path of the configuration file, for error messages.
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
        // After a `.system` error, the service manager may start bearerd again.
        guard !error.isTransient else { throw .system(error.description) }
        throw .configuration([.about(file: configuration, "audit.file: \(error)", help: error.help)])
      }
    }
  }

  package func adopt(_ change: Change) throws(StartError) {
    switch change {
    case .none: detach()
    case .keep(let settings): configureLog(settings)
    case .open(let file, let settings):
      if let writerThread {
        writerThread.writer.change(to: file)
      } else {
        writerThread = try WriterThread(file, loop: loop) { [unowned self] in handleEvents(of: $0) }
      }
      self.file = file
      configureLog(settings)
    }
  }

  /// Closes the writer threads that the configuration no longer needs. Call it when no worker uses them.
  package func closeRetired() {
    for writerThread in retired { writerThread.writer.close() }
    closing += retired
    retired = []
  }

  /// Writes all remaining records at shutdown, if the disk responds in time.
  package func close() {
    detach()
    closeRetired()
    let deadline = Clock.monotonicMicroseconds / 1_000 + AuditTrail.closeTimeout
    for writerThread in closing {
      let now = Clock.monotonicMicroseconds / 1_000
      let hasEnded = writerThread.hasEnded(within: Int(clamping: deadline > now ? deadline - now : 0))
      logEvents(of: writerThread)
      guard !hasEnded else { continue }
      writerThread.abandon()
      log.event(.auditLost, ("detail", "the disk does not respond, and the waiting records are lost"))
    }
    closing = []
  }

  private func configureLog(_ settings: AuditSettings) {
    log.use(audit: writerThread?.writer, required: settings.isRequired ? writerThread?.writer : nil)
  }

  private func detach() {
    log.use(audit: nil, required: nil)
    if let writerThread { retired.append(writerThread) }
    (writerThread, file) = (nil, nil)
  }

  private func handleEvents(of writerThread: WriterThread) {
    logEvents(of: writerThread)
    guard closing.contains(where: { $0 === writerThread }), writerThread.hasEnded(within: 0) else { return }
    closing.removeAll { $0 === writerThread }
  }

  private func logEvents(of writerThread: WriterThread) {
    for event in writerThread.writer.popEvents() {
      switch event {
      case .anchor(let state, let path, let count, let head):
        log.event(.audit, ("state", state), ("file", path), ("n", String(count)), ("chain", head.description))
      case .failed(let path, let reason):
        log.event(
          .auditFailed, ("file", path), ("detail", reason),
          (
            "help",
            "records wait in memory, and bearerd tries again each second. With required: true, new requests get 503 until then"
          ))
      case .recovered(let path, let dropped):
        log.event(.auditWorks, ("file", path), ("dropped", String(dropped)))
      case .lost(let path, let count):
        log.event(.auditLost, ("file", path), ("records", String(count)))
      }
    }
  }
}
