package import Log
package import Secrets
package import Settings
internal import StatusModel
internal import Synchronization
internal import System

/// Reads and watches the secret files at startup, before bearerd serves requests (T55).
package final class InitialLoad {
  let watch: DirectoryWatch?
  package let files = FileValues()
  /// Files that still have to be read after startup.
  private(set) var pending: Set<SecretSource>
  /// The files in `pending` that were read, but have changed since.
  package private(set) var changing: Set<SecretSource> = []
  private(set) var unwatched: [(directory: String, error: SystemError)] = []

  /// Time limit in milliseconds for reading the files once.
  private static let roundTimeout = 500
  private static let maxRounds = 3

  /// - Parameter unresponsive: files that did not respond earlier. They are not read at startup.
  package init(_ sources: Set<SecretSource>, unresponsive: Set<SecretSource>, log: EventLog) {
    do throws(SystemError) {
      watch = try DirectoryWatch()
    } catch {
      watch = nil
      log.event(.secretsNotWatched, ("detail", "\(error). Reload after each change of a secret"))
    }
    pending = sources
    let resultStore = ResultStore(files)
    var wanted = sources.subtracting(unresponsive)
    for _ in 0..<Self.maxRounds where !wanted.isEmpty {
      wanted = read(wanted, resultStore)
      pending.formUnion(wanted)
    }
    resultStore.close()
    changing = pending.filter { files.isKnown($0) }
    for source in sources where !files.isKnown(source) { files.recordDelay(source, "is still being read") }
  }

  /// Stores each result in `files` as soon as a thread has read the file.
  /// `@unchecked Sendable`: the lock protects `files` until `close()`. Then only the event loop uses `files`.
  private final class ResultStore: @unchecked Sendable {
    private let files: FileValues
    private let isOpen = Mutex(true)

    init(_ files: FileValues) { self.files = files }

    func store(_ reading: SecretFileSnapshot) { isOpen.withLock { if $0 { files.store(reading) } } }
    func close() { isOpen.withLock { $0 = false } }
  }

  private struct ReadOutcome: Sendable {
    let isPassing: Bool
    let watches: [(directory: String, watch: Result<Int32, SystemError>)]
  }

  /// Reads files on several threads. Returns the files that must be read again.
  private func read(_ wanted: Set<SecretSource>, _ resultStore: ResultStore) -> Set<SecretSource> {
    let adder = watch?.adder
    let found = BoundedWork.run(Array(wanted), milliseconds: Self.roundTimeout) { source in
      let reading = SecretFileSnapshot(of: source, watchedBy: adder, mustLock: false)
      resultStore.store(reading)
      return ReadOutcome(isPassing: reading.isTransient, watches: reading.watches)
    }
    var again: Set<SecretSource> = []
    for (source, found) in found {
      if !found.isPassing { pending.remove(source) }
      for (directory, result) in found.watches where !register(directory, result) { again.insert(source) }
    }
    guard let watch else { return [] }
    return again.union(files.changed(watch.changes()).map(\.source))
  }

  private func register(_ directory: String, _ result: Result<Int32, SystemError>) -> Bool {
    switch result {
    case .success(let number): return watch?.register(directory, as: number) ?? true
    case .failure(let error):
      unwatched.append((directory, error))
      return true
    }
  }
}
