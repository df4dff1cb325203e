package import Log
package import Secrets
internal import Synchronization
internal import System

/// The files of secrets as a start finds them: each that answers is read, and watched, before anything is served. The start
/// does not wait for the others (T55).
package final class InitialLoad {
  let watch: DirectoryWatch?
  package let files: FileValues
  /// Not read, or changed since.
  private(set) var pending: Set<SecretSource>
  /// The sources among them that were read.
  package private(set) var changing: Set<SecretSource> = []
  private(set) var unwatched: [(directory: String, error: SystemError)] = []

  /// Milliseconds for all of them together, each time; and how often those are read that change meanwhile.
  private static let patience = 500
  private static let rounds = 3

  /// - Parameter unanswered: files that could not be looked at.
  package init(_ sources: Set<SecretSource>, unanswered: Set<SecretSource>, log: EventLog) {
    do throws(SystemError) {
      watch = try DirectoryWatch()
    } catch {
      watch = nil
      log.event(.secretsNotWatched, ("detail", "\(error). Reload after each change of a secret"))
    }
    files = FileValues()
    pending = sources
    let intake = Intake(files)
    var wanted = sources.subtracting(unanswered)
    for _ in 0..<Self.rounds where !wanted.isEmpty {
      wanted = read(wanted, intake)
      pending.formUnion(wanted)
    }
    intake.close()
    changing = pending.filter { files.isKnown($0) }
    for source in sources where !files.isKnown(source) { files.delay(source, "is still being read") }
  }

  /// The place where threads put what they have read, so that no more of it waits in locked memory than there are threads.
  ///
  /// Unchecked: the threads have the files under its lock alone, and only while it is open; afterwards they are the loop's.
  private final class Intake: @unchecked Sendable {
    private let files: FileValues
    private let isOpen = Mutex(true)

    init(_ files: FileValues) { self.files = files }

    func take(_ reading: SecretFileSnapshot) { isOpen.withLock { if $0 { files.take(reading) } } }
    func close() { isOpen.withLock { $0 = false } }
  }

  private struct Found: Sendable {
    let isPassing: Bool
    let watches: [(directory: String, watch: Result<Int32, SystemError>)]
  }

  /// Returns those that are to be read once more: something happened to them meanwhile.
  private func read(_ wanted: Set<SecretSource>, _ intake: Intake) -> Set<SecretSource> {
    let adder = watch?.adder
    let found = BoundedWork.run(Array(wanted), milliseconds: Self.patience) { source in
      let reading = SecretFileSnapshot(of: source, watchedBy: adder, mustLock: false)
      intake.take(reading)
      return Found(isPassing: reading.isPassing, watches: reading.watches)
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
