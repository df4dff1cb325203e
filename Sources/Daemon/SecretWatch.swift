internal import Credentials
internal import EventLoop
internal import Gateway
internal import Policy
internal import System

/// Notices changed secret files, and has the keyring read them again: the next request goes out with the new one.
final class SecretWatch {
  private let watch: DirectoryWatch?
  /// Directories whose absence has been told.
  private var missed: Set<String> = []
  private var lookedAt: [Int: UInt64] = [:]
  private var source: ReadableSource?
  private unowned let worker: Worker

  init(worker: Worker) {
    self.worker = worker
    do throws(SystemError) {
      watch = try DirectoryWatch()
    } catch {
      watch = nil
      worker.journal.event(.warning, "secrets-not-watched", ("detail", "reload after a change: \(error)"))
    }
    guard let watch else { return }
    do throws(UVError) {
      source = try ReadableSource(loop: worker.loop, descriptor: watch.descriptor) { [unowned self] in changed() }
    } catch {
      worker.journal.event(.warning, "secrets-not-watched", ("detail", "reload after a change: \(error)"))
    }
  }

  /// Watches the directories of this generation's secrets, and no others.
  func follow(_ generation: Generation) {
    guard let watch else { return }
    let (added, failures) = watch.watch(only: generation.keyring.directories)
    for failure in failures where missed.insert(failure.directory).inserted {
      worker.journal.event(
        .warning, "secrets-not-watched", ("directory", failure.directory), ("detail", failure.error.description))
    }
    // What changed between reading and watching.
    if !added.isEmpty { reload(added.map { ($0, "") }, of: generation) }
  }

  /// A request wants a credential that is not there: its directory may have come into being since, which no watch could tell.
  /// Once a second for each. True when it is there now.
  func lookAgain(grant index: Int) -> Bool {
    let now = worker.loop.now
    if let last = lookedAt[index], now < last + 1_000 { return false }
    lookedAt[index] = now
    let generation = worker.generation
    guard generation.keyring.reload(grant: index) else { return false }
    worker.journal.credential(index, of: generation)
    missed = []
    follow(generation)
    return generation.keyring.isAvailable(grant: index)
  }

  func close() {
    source?.close()
    source = nil
  }

  private func changed() {
    guard let watch else { return }
    let changes = watch.changes()
    guard !changes.isEmpty else { return }
    reload(changes, of: worker.generation)
    // A symbolic link may lead somewhere else now.
    follow(worker.generation)
  }

  private func reload(_ changes: [(directory: String, name: String)], of generation: Generation) {
    let keyring = generation.keyring
    let problems = (0..<keyring.grantCount).map { keyring.status(ofGrant: $0).problem }
    let changed = Set(keyring.reload(changes: changes))
    for index in 0..<keyring.grantCount {
      // A file that has become unusable changes nothing yet, and somebody should know (T44).
      if changed.contains(index) || keyring.status(ofGrant: index).problem != problems[index] {
        worker.journal.credential(index, of: generation)
      }
    }
  }
}

extension Journal {
  /// How a credential stands, after a change.
  func credential(_ index: Int, of generation: Generation) {
    let status = generation.keyring.status(ofGrant: index)
    let name = generation.snapshot.rules.grants[index].name
    guard let problem = status.problem else {
      event(.notice, "credential-changed", ("credential", name), ("credential_generation", String(status.generation)))
      return generation.keyring.reportShort(index, name, to: self)
    }
    let isAvailable = generation.keyring.isAvailable(grant: index)
    event(
      .warning, isAvailable ? "credential-unusable" : "credential-unavailable", ("credential", name),
      ("credential_generation", String(status.generation)), ("detail", problem))
  }
}

extension Keyring {
  /// What a person should know of the credentials when a generation begins.
  func report(to journal: Journal, of generation: Generation) {
    if !isLocked {
      journal.event(
        .warning, "memory-not-locked", ("detail", "secrets could reach the swap; raise LimitMEMLOCK (ulimit -l)"))
    }
    // Of a command that has not ended yet, its end tells.
    for index in 0..<grantCount where !isAwaited(grant: index) {
      let name = generation.snapshot.rules.grants[index].name
      reportShort(index, name, to: journal)
      guard let problem = status(ofGrant: index).problem else { continue }
      journal.event(.warning, "credential-unavailable", ("credential", name), ("detail", problem))
    }
  }

  /// A value that would be found in innocent text is not looked for in answers.
  fileprivate func reportShort(_ index: Int, _ name: String, to journal: Journal) {
    guard patterns(ofGrant: index)?.isIncomplete == true else { return }
    journal.event(
      .warning, "credential-short", ("credential", name),
      ("detail", "a value of fewer than 8 bytes is not masked where it comes back in an answer"))
  }
}
