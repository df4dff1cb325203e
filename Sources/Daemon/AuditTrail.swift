internal import Audit
internal import Configuration
internal import EventLoop
internal import System

/// The audit file that the configuration asks for, the thread that writes it, and what the log says of both (T58).
final class AuditTrail {
  private let loop: Loop
  private let journal: Journal
  private var writer: AuditWriter?
  private var thread: BackgroundThread?
  private var wakeup: Wakeup?

  init(loop: Loop, journal: Journal) {
    self.loop = loop
    self.journal = journal
  }

  /// What is to be done for a configuration, once it is sure that it will be used.
  enum Change {
    case none, close
    case keep(AuditSettings)
    case open(AuditFile, AuditSettings)
  }

  /// Opens the file, unless it is open already and still in its place.
  func prepare(_ settings: AuditSettings?) throws(StartError) -> Change {
    guard let settings else { return writer == nil ? .none : .close }
    if let file, file.path == settings.file, file.isInPlace { return .keep(settings) }
    do throws(AuditFileError) {
      return .open(try AuditFile(path: settings.file), settings)
    } catch {
      throw .system(error.description)
    }
  }

  private var file: AuditFile?

  func adopt(_ change: Change) throws(StartError) {
    switch change {
    case .none: return
    case .close: close()
    case .keep(let settings): follow(settings)
    case .open(let file, let settings):
      if let writer { writer.change(to: file) } else { try start(file) }
      self.file = file
      follow(settings)
    }
  }

  /// Nothing goes to an upstream any more: all that is left is written.
  func close() {
    journal.audit = nil
    journal.requiredAudit = nil
    writer?.close()
    thread?.join()
    tell()
    wakeup?.close()
    (writer, thread, wakeup, file) = (nil, nil, nil, nil)
  }

  private func follow(_ settings: AuditSettings) {
    journal.audit = writer
    journal.requiredAudit = settings.isRequired ? writer : nil
  }

  private func start(_ file: AuditFile) throws(StartError) {
    let wakeup: Wakeup
    do throws(UVError) {
      wakeup = try Wakeup(loop: loop) { [unowned self] in tell() }
    } catch {
      throw .system(error.description)
    }
    let writer = AuditWriter(file, version: Version.text) { wakeup.wake() }
    let thread = BackgroundThread { writer.run() }
    guard thread.isStarted else {
      wakeup.close()
      throw .system("audit file \(file.path): the system has no thread to write it with")
    }
    (self.writer, self.thread, self.wakeup) = (writer, thread, wakeup)
  }

  private func tell() {
    for news in writer?.takeNews() ?? [] {
      switch news {
      case .anchor(let state, let path, let count, let head):
        journal.event(
          .notice, "audit", ("state", state), ("file", path), ("n", String(count)), ("chain", head.description))
      case .failed(let path, let reason):
        journal.event(
          .error, "audit-failed", ("file", path), ("detail", reason),
          (
            "help",
            "records wait, and it is tried again each second; with required: true new requests get 503 until then"
          ))
      case .works(let path, let dropped):
        journal.event(.notice, "audit-works", ("file", path), ("dropped", String(dropped)))
      case .lost(let path, let count):
        journal.event(.error, "audit-lost", ("file", path), ("records", String(count)))
      }
    }
  }
}
