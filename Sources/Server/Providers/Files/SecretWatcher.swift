internal import Credentials
internal import EventLoop
internal import Gateway
package import Log
internal import Policy
internal import Redaction
internal import Secrets
package import Settings
package import Generations
internal import StatusModel
internal import System
internal import Transport

/// Detects changed secret files, and reads them again without blocking the loop.
package final class SecretWatcher {
  private let watch: DirectoryWatch?
  private var reads: FileLoader?
  private var loggedUnwatched: Set<String> = []
  /// For each grant, when a request last caused a read of the grant's files, in milliseconds of the loop's clock.
  private var lastChecks: [UInt64] = []
  private var source: ReadableSource?
  /// The files of the current generation, and of a generation that is being prepared.
  private var wanted: Set<SecretSource> = []
  private let files: FileValues
  private unowned let providers: CredentialProviders

  /// A request reads the files of a missing credential again, at most once in this number of milliseconds.
  private static let pauseIfMissing: UInt64 = 1_000
  /// A request reads its credential's files again, at most once in this number of milliseconds.
  private var pause: UInt64 = 60_000

  init(providers: CredentialProviders, first: InitialLoad) {
    self.providers = providers
    files = first.files
    watch = first.watch
    reads = FileLoader(
      time: providers.context, threads: BlockingTasks(loop: providers.loop), adder: watch?.adder,
      mustLock: { [files] in files.mustLock },
      onRead: { [unowned self] in take($0, loggedOut: $1) },
      onDelay: { [unowned self] source, reason in
        reportChanges(of: source) { if let reason { files.recordDelay(source, reason) } }
      })
    guard let watch else { return }
    do throws(UVError) {
      source = try ReadableSource(loop: providers.loop, descriptor: watch.descriptor) { [unowned self] in
        changed(watch.changes())
      }
    } catch {
      providers.log.event(.secretsNotWatched, ("detail", "\(error). Reload after each change of a secret"))
    }
  }

  func begin(_ generation: Generation, after first: InitialLoad) {
    update(to: generation)
    for (directory, error) in first.unwatched { reportUnwatched(directory, error) }
    for source in first.pending { reads?.read(source) }
  }

  /// Reads files for a generation that is being prepared. Calls `onEnd` later, when all have been read or take too
  /// long.
  package func read(_ sources: Set<SecretSource>, onEnd: @escaping () -> Void) {
    var rest = Array(sources)
    providers.loop.runIncrementally { [weak self] hasTime in
      guard let self else { return true }
      while let source = rest.popLast() {
        wanted.insert(source)
        reads?.read(source)
        if !hasTime() { return false }
      }
      wait(for: sources, rounds: 3, onEnd: onEnd)
      return true
    }
  }

  /// Waits until the files have been read, and again if they change meanwhile, at most `rounds` times. Then calls
  /// `onEnd`.
  private func wait(for sources: Set<SecretSource>, rounds: Int, onEnd: @escaping () -> Void) {
    let wait =
      rounds == 0
      ? nil
      : reads?.wait(for: sources) { [unowned self] in
        self.wait(for: sources, rounds: rounds - 1, onEnd: onEnd)
      }
    if wait == nil { providers.loop.onNextTurn(onEnd) }
  }

  package func update(to generation: Generation) {
    wanted = generation.keyring.files
    files.keep(only: wanted)
    reads?.keep(only: wanted)
    watch?.keep(only: files.directories)
    let now = providers.loop.now
    lastChecks = Array(repeating: now - min(now, Self.pauseIfMissing), count: generation.keyring.grantCount)
  }

  package var pending: Set<SecretSource> { reads?.pending ?? [] }

  #if DEBUG
    package func checkWithoutPause() { pause = 0 }
  #endif

  /// Whether a request with this grant has to call `isReading`. Starts nothing.
  func mustBeAsked(forGrant index: Int) -> Bool {
    guard let reads, lastChecks.indices.contains(index) else { return false }
    return !reads.isIdle || providers.loop.now >= lastChecks[index] + pause
  }

  /// Whether a request with this grant may have to wait, because a file is being read. Also starts to read the grant's
  /// files again if `pause` has passed since the last check.
  package func isReading(forGrant index: Int) -> Bool {
    guard let reads, lastChecks.indices.contains(index) else { return false }
    if providers.loop.now >= lastChecks[index] + pause { checkAgain(index) }
    return !reads.isIdle
  }

  /// Calls `onEnd` once, later, when this grant's files have been read or take too long. If there is nothing to wait
  /// for, returns `nil` and never calls `onEnd`.
  package func wait(forGrant index: Int, onEnd: @escaping () -> Void) -> SecretWait? {
    guard let reads, lastChecks.indices.contains(index) else { return nil }
    let keyring = providers.generation.keyring
    if !keyring.isAvailable(grant: index), providers.loop.now >= lastChecks[index] + Self.pauseIfMissing {
      checkAgain(index)
    }
    return reads.wait(for: keyring.files(ofGrant: index), onEnd: onEnd)
  }

  private func checkAgain(_ index: Int) {
    lastChecks[index] = providers.loop.now
    for source in providers.generation.keyring.files(ofGrant: index) { reads?.read(source) }
  }

  func close() {
    source.take()?.close()
    reads.take()?.close()
  }

  func readChanges() {
    guard let changes = watch?.changes(), !changes.isEmpty else { return }
    changed(changes)
  }

  /// Like `wait(forGrant:onEnd:)`, for these files. First checks whether they have changed.
  func wait(forFiles sources: Set<SecretSource>, onEnd: @escaping () -> Void) -> SecretWait? {
    readChanges()
    return reads?.wait(for: sources, onEnd: onEnd)
  }

  private func changed(_ changes: [DirectoryWatch.Change]) {
    for entry in files.changed(changes) { reads?.read(entry.source, made: entry.made) }
  }

  /// Records the logout of a credential. The present content of its files is then no longer used.
  package func logOut(_ credential: String) {
    readChanges()
    reads?.logOut(credential, files: wanted)
  }

  private func take(_ reading: SecretFileSnapshot, loggedOut: Set<String>) {
    // Detects a change during the read before the loop does, so that requests wait for the next read. Otherwise, a
    // credential with two files could combine an old and a new value.
    readChanges()
    guard wanted.contains(reading.source) else { return }
    var hasMoved = false
    reportChanges(of: reading.source, loggedOut: loggedOut) { hasMoved = files.store(reading) }
    providers.onSecretRead?(reading.source, loggedOut)
    for (directory, result) in reading.watches { register(directory, result) }
    // A symbolic link may now lead to another directory.
    if hasMoved { watch?.keep(only: files.directories) }
    if reads?.isIdle == true { watch?.discardUnregistered() }
  }

  private func register(_ directory: String, _ result: Result<Int32, SystemError>) {
    guard let watch else { return }
    switch result {
    case .success(let number):
      loggedUnwatched.remove(directory)
      if !watch.register(directory, as: number) {
        changed([DirectoryWatch.Change(directory: directory, name: "")])
      }
    case .failure(let error): reportUnwatched(directory, error)
    }
  }

  private func reportUnwatched(_ directory: String, _ error: SystemError) {
    guard loggedUnwatched.insert(directory).inserted,
      providers.log.sink?.recordIfChanged("watch \(directory)", error.description) ?? true
    else { return }
    providers.log.event(.secretsNotWatched, ("directory", directory), ("detail", error.description))
  }

  private func reportChanges(of source: SecretSource, loggedOut: Set<String> = [], _ change: () -> Void) {
    let generation = providers.generation
    let keyring = generation.keyring
    let users = keyring.users(of: source)
    let problems = users.map { keyring.status(ofGrant: $0).problem }
    change()
    let pending = reads?.pending ?? []
    // Includes this file if it has changed again. Combined with another file, its content would mix two values.
    let changed = Set(keyring.reload(file: source, pending: pending, loggedOut: loggedOut))
    // After the current keyring: for the same value, the prepared keyring reuses its results.
    providers.prepared?.keyring.reload(file: source, pending: pending, loggedOut: loggedOut)
    for (index, problem) in zip(users, problems) {
      // An unusable file changes no value yet, but the administrator should know (T44).
      if changed.contains(index) || keyring.status(ofGrant: index).problem != problem {
        providers.log.credential(index, of: generation)
      }
    }
    if !changed.isEmpty { providers.checkAccounts() }
  }
}

extension EventLog {
  /// Logs that a credential has a new value, or why it is unusable, unless this was the last message.
  func credential(_ index: Int, of generation: Generation) {
    let status = generation.keyring.status(ofGrant: index)
    let name = generation.snapshot.rules.grants[index].name
    // Each worker reads the file, but all workers share one log.
    let value = generation.keyring.fingerprint(ofGrant: index) ?? ""
    guard sink?.recordIfChanged("credential \(name)", "\(value) \(status.problem ?? "")") ?? true else { return }
    guard let problem = status.problem else {
      event(.credentialChanged, ("credential", name), ("credential_generation", String(status.secretVersion)))
      return generation.keyring.reportShort(index, name, to: self)
    }
    let isAvailable = generation.keyring.isAvailable(grant: index)
    event(
      isAvailable ? .credentialUnusable : .credentialUnavailable, ("credential", name),
      ("credential_generation", String(status.secretVersion)), ("detail", problem))
  }
}

extension Keyring {
  /// Logs all problems with credentials and locked memory when a generation begins.
  package func report(to log: EventLog, of generation: Generation) {
    reportLocks(to: log)
    for index in unreported { report(index, to: log, of: generation) }
  }

  package func reportLocks(to log: EventLog) {
    if isLocked { return }
    log.event(
      .memoryNotLocked, ("detail", "secrets could be written to swap: raise LimitMEMLOCK= of the unit (ulimit -l)"))
  }

  /// Grants whose status must be logged when the generation begins.
  package var unreported: [Int] {
    (0..<grantCount).filter { !isCommandPending(grant: $0) && !isTokenPending(grant: $0) }
  }

  package func report(_ index: Int, to log: EventLog, of generation: Generation) {
    let name = generation.snapshot.rules.grants[index].name
    reportShort(index, name, to: log)
    guard let problem = status(ofGrant: index).problem else { return }
    log.event(.credentialUnavailable, ("credential", name), ("detail", problem))
  }

  /// Logs if a value is too short to be masked in responses, because it would also match harmless text.
  fileprivate func reportShort(_ index: Int, _ name: String, to log: EventLog) {
    guard patterns(ofGrant: index)?.isIncomplete == true else { return }
    log.event(
      .credentialShort, ("credential", name),
      ("detail", "bearerd does not mask a value of fewer than 8 bytes in responses"))
  }
}
