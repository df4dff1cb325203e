internal import Credentials
internal import EventLoop
internal import Gateway
package import Log
internal import Policy
internal import Redaction
package import Secrets
package import Setup
internal import System

/// Notices changed secret files, and has them read again beside the loop: the next request waits for that, and goes out with
/// the new value.
package final class SecretWatcher {
  private let watch: DirectoryWatch?
  private var reads: FileLoader?
  /// Directories whose absence has been told.
  private var missed: Set<String> = []
  /// When the files of each grant were read last because a request wanted that; milliseconds of the loop's clock.
  private var lookedAt: [UInt64] = []
  private var source: ReadableSource?
  /// The files of the current generation, and of one that is on its way.
  private var wanted: Set<SecretSource> = []
  private let files: FileValues
  private unowned let providers: CredentialProviders

  /// Milliseconds after which a request has the files of its credential read again: if there is none, as its directory may have
  /// come into being; and if there is one, as a directory further up may have been moved, or something mounted over it. No
  /// watch tells of either.
  private static let pauseIfMissing: UInt64 = 1_000
  private var pause: UInt64 = 60_000

  init(providers: CredentialProviders, first: InitialLoad) {
    self.providers = providers
    files = first.files
    watch = first.watch
    reads = FileLoader(
      providers: providers, adder: watch?.adder, files: files,
      onRead: { [unowned self] in take($0, loggedOut: $1) },
      onDelay: { [unowned self] source, reason in
        reportChanges(of: source) { if let reason { files.delay(source, reason) } }
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

  /// Goes on with what the start has found.
  func begin(_ generation: Generation, after first: InitialLoad) {
    follow(generation)
    for (directory, error) in first.unwatched { reportUnwatched(directory, error) }
    for source in first.pending { reads?.read(source) }
  }

  /// For a generation that is to come. `onEnd` is called on a later turn, once all have been read, or take too long.
  package func read(_ sources: Set<SecretSource>, onEnd: @escaping () -> Void) {
    var rest = Array(sources)
    providers.loop.inPieces { [weak self] hasTime in
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

  /// Waits for files; one that changes meanwhile is read as well, within reason: a value that is half of one time and half of
  /// another is none.
  private func wait(for sources: Set<SecretSource>, rounds: Int, onEnd: @escaping () -> Void) {
    let wait =
      rounds == 0
      ? nil
      : reads?.wait(for: sources) { [unowned self] in
        self.wait(for: sources, rounds: rounds - 1, onEnd: onEnd)
      }
    if wait == nil { providers.loop.onNextTurn(onEnd) }
  }

  /// Watches the directories of this generation's secrets, and no others.
  package func follow(_ generation: Generation) {
    wanted = generation.keyring.files
    files.keep(only: wanted)
    reads?.keep(only: wanted)
    watch?.keep(only: files.directories)
    let now = providers.loop.now
    var never = Array(repeating: now - min(now, Self.pauseIfMissing), count: generation.keyring.grantCount)
    // An array that is destroyed where it stands would have each access to it checked, at each request.
    swap(&lookedAt, &never)
  }

  /// Files for which requests may wait.
  package var pending: Set<SecretSource> { reads?.pending ?? [] }

  #if DEBUG
    /// No test waits a minute.
    package func checkWithoutPause() { pause = 0 }
  #endif

  /// Whether a request for this credential of the current generation may have to wait: some file is being read.
  package func isReading(forGrant index: Int) -> Bool {
    guard let reads, lookedAt.indices.contains(index) else { return false }
    if providers.loop.now >= lookedAt[index] + pause { checkAgain(index) }
    return !reads.isIdle
  }

  /// Calls `onEnd` once, never from within this call: what the files of this credential of the current generation held when
  /// it was asked for is in use, or takes too long. nil: there is nothing to wait for.
  package func wait(forGrant index: Int, onEnd: @escaping () -> Void) -> SecretWait? {
    guard let reads, lookedAt.indices.contains(index) else { return nil }
    let keyring = providers.generation.keyring
    if !keyring.isAvailable(grant: index), providers.loop.now >= lookedAt[index] + Self.pauseIfMissing {
      checkAgain(index)
    }
    return reads.wait(for: keyring.files(ofGrant: index), onEnd: onEnd)
  }

  private func checkAgain(_ index: Int) {
    lookedAt[index] = providers.loop.now
    for source in providers.generation.keyring.files(ofGrant: index) { reads?.read(source) }
  }

  func close() {
    source?.close()
    source = nil
    reads.take()?.close()
  }

  /// Begins to read what has changed up to now.
  func hear() {
    guard let changes = watch?.changes(), !changes.isEmpty else { return }
    changed(changes)
  }

  /// Calls `onEnd` once, never from within this call: what these files hold now is in use, or takes too long. nil: there is
  /// nothing to wait for.
  func wait(forFiles sources: Set<SecretSource>, onEnd: @escaping () -> Void) -> SecretWait? {
    hear()
    return reads?.wait(for: sources, onEnd: onEnd)
  }

  private func changed(_ changes: [DirectoryWatch.Change]) {
    for entry in files.changed(changes) { reads?.read(entry.source, made: entry.made) }
  }

  /// A credential is logged out: what its files hold by now is of before, also where this is not known to the loop yet.
  package func logOut(_ credential: String) {
    hear()
    reads?.logOut(credential, files: wanted)
  }

  private func take(_ reading: SecretFileSnapshot, loggedOut: Set<String>) {
    // A change during the reading is known here, and not to the loop yet: until that is read as well, requests wait. A
    // credential of two files would be half of two values.
    hear()
    guard wanted.contains(reading.source) else { return }
    var isElsewhere = false
    reportChanges(of: reading.source, loggedOut: loggedOut) { isElsewhere = files.take(reading) }
    providers.onSecretRead?(reading.source, loggedOut)
    for (directory, result) in reading.watches { register(directory, result) }
    // A symbolic link may lead somewhere else now.
    if isElsewhere { watch?.keep(only: files.directories) }
    if reads?.isIdle == true { watch?.discardUnknown() }
  }

  private func register(_ directory: String, _ result: Result<Int32, SystemError>) {
    guard let watch else { return }
    switch result {
    case .success(let number):
      missed.remove(directory)
      if !watch.register(directory, as: number) {
        changed([DirectoryWatch.Change(directory: directory, name: "")])
      }
    case .failure(let error): reportUnwatched(directory, error)
    }
  }

  private func reportUnwatched(_ directory: String, _ error: SystemError) {
    guard missed.insert(directory).inserted,
      providers.log.share?.isNews("watch \(directory)", error.description) ?? true
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
    // Also of this file itself, if it has changed meanwhile: with what another one holds now, this would be half of two values.
    let changed = Set(keyring.reload(file: source, pending: pending, loggedOut: loggedOut))
    // Behind it: of the same value, this one takes over what is ready.
    providers.prepared?.keyring.reload(file: source, pending: pending, loggedOut: loggedOut)
    for (index, problem) in zip(users, problems) {
      // A file that has become unusable changes nothing yet, and an administrator should know (T44).
      if changed.contains(index) || keyring.status(ofGrant: index).problem != problem {
        providers.log.credential(index, of: generation)
      }
    }
  }
}

extension EventLog {
  /// How a credential stands, after a change.
  func credential(_ index: Int, of generation: Generation) {
    let status = generation.keyring.status(ofGrant: index)
    let name = generation.snapshot.rules.grants[index].name
    // Each worker reads for itself, and the log is one.
    let value = generation.keyring.fingerprint(ofGrant: index) ?? ""
    guard share?.isNews("credential \(name)", "\(value) \(status.problem ?? "")") ?? true else { return }
    guard let problem = status.problem else {
      event(.credentialChanged, ("credential", name), ("credential_generation", String(status.generation)))
      return generation.keyring.reportShort(index, name, to: self)
    }
    let isAvailable = generation.keyring.isAvailable(grant: index)
    event(
      isAvailable ? .credentialUnusable : .credentialUnavailable, ("credential", name),
      ("credential_generation", String(status.generation)), ("detail", problem))
  }
}

extension Keyring {
  /// Logs what an administrator should know of the credentials when a generation begins.
  package func report(to log: EventLog, of generation: Generation) {
    reportLocks(to: log)
    for index in unreported { report(index, to: log, of: generation) }
  }

  package func reportLocks(to log: EventLog) {
    if isLocked { return }
    log.event(
      .memoryNotLocked, ("detail", "secrets could be written to swap: raise LimitMEMLOCK= of the unit (ulimit -l)"))
  }

  /// Credentials whose state is logged here alone: of a command that has not ended yet, its end does; of a token endpoint, its
  /// answer.
  package var unreported: [Int] { (0..<grantCount).filter { !isAwaited(grant: $0) && !isUnasked(grant: $0) } }

  package func report(_ index: Int, to log: EventLog, of generation: Generation) {
    let name = generation.snapshot.rules.grants[index].name
    reportShort(index, name, to: log)
    guard let problem = status(ofGrant: index).problem else { return }
    log.event(.credentialUnavailable, ("credential", name), ("detail", problem))
  }

  /// A value that would be found in innocent text is not looked for in answers.
  fileprivate func reportShort(_ index: Int, _ name: String, to log: EventLog) {
    guard patterns(ofGrant: index)?.isIncomplete == true else { return }
    log.event(
      .credentialShort, ("credential", name),
      ("detail", "bearerd does not mask a value of fewer than 8 bytes in responses"))
  }
}
