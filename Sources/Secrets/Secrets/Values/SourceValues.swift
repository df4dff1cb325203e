internal import Synchronization
internal import System

/// The most recent values of all sources of one kind: files, programs or token endpoints. Later configurations keep
/// these values.
package class SourceValues<Source: Hashable & Sendable> {
  package let arena = SecretArena()
  private var entries: [Source: SourceEntry] = [:]
  /// `false` once memory could not be locked.
  package private(set) var isLocked = true

  package init() {}

  package final var mustLock: Bool {
    get { arena.mustLock }
    set { arena.mustLock = newValue }
  }

  // MARK: differences between kinds

  func name(of source: Source) -> String { preconditionFailure("each kind of source has names") }

  /// Returns why a source that has not failed has no value.
  func missingValueProblem(of source: Source, isKnown: Bool) -> SecretProblem {
    preconditionFailure("each kind of source says why it has no value")
  }

  /// The end of error messages about a failed source whose previous value stays in use.
  var stillInUse: String { SecretProblem.stillInUse }

  // MARK: changes

  final var sources: [Source] { Array(entries.keys) }

  final func entry(_ source: Source) -> SourceEntry? { entries[source] }

  final func findOrCreateEntry(_ source: Source) -> SourceEntry {
    if let entry = entries[source] { return entry }
    let entry = SourceEntry()
    entries[source] = entry
    return entry
  }

  /// Replaces the current value.
  final func put(_ value: consuming SourceValue, _ source: Source) {
    let entry = findOrCreateEntry(source)
    if !entry.matches(value) { entry.version = lastVersion.add(1, ordering: .relaxed).newValue }
    entry.put(.some(value), failure: nil)
    recordLocking()
  }

  final func recordLocking(_ areLocked: Bool = true) { if !areLocked || !arena.isLocked { isLocked = false } }

  /// Records why there is no new value. The current value stays.
  package func fail(_ source: Source, _ sentence: String) { findOrCreateEntry(source).failure = sentence }

  package final func expire(_ source: Source) {
    let entry = findOrCreateEntry(source)
    entry.put(nil, failure: entry.failure)
  }

  package final func forget(_ source: Source) { entries[source] = nil }

  // MARK: current values

  /// Whether the source has produced a result: a value or a failure.
  package final func isKnown(_ source: Source) -> Bool { entries[source].map { !$0.isPending } ?? false }

  /// Returns a number that changes with each new value of the source; 0 if there never was a value.
  package final func version(of source: Source) -> UInt64 { entries[source]?.version ?? 0 }

  /// Returns why the source's value is not renewed; `nil` if nothing failed.
  package final func failure(of source: Source) -> String? { entries[source]?.failure.map { $0 + stillInUse } }

  /// Appends the source's value, or its user name if `isUser`, to `secret`. Throws if there is no usable value.
  final func append(_ source: Source, isUser: Bool = false, to secret: inout Secret) throws(SecretProblem) {
    guard let entry = entries[source] else { throw missingValueProblem(of: source, isKnown: false) }
    if let problem = entry.problem { throw problem }
    switch entry.value {
    case .none:
      let absence = missingValueProblem(of: source, isKnown: true)
      throw entry.failure.map { SecretProblem($0, isMissing: absence.isMissing) } ?? absence
    case .some(let value):
      do throws(SystemError) {
        try value.withPart(isUser: isUser) { (bytes) throws(SystemError) in try secret.append(bytes) }
      } catch {
        throw SecretProblem(error, reading: name(of: source))
      }
    }
  }

  // MARK: copies for other threads

  /// Returns a source's state with a copy of its value.
  package final func state(of source: Source) -> SourceState<Source> {
    // If there is no memory for the copy, the state is a failure.
    guard isKnown(source), let entry = entries[source] else { return SourceState(source, isKnown: false) }
    do throws(SystemError) {
      return SourceState(source, copy: try entry.copy(mustLock: mustLock), failure: entry.failure)
    } catch {
      return SourceState(source, failure: SecretProblem(error, reading: name(of: source)).sentence)
    }
  }

  /// Replaces the state of a source with its state in another thread.
  package final func adopt(_ output: SourceState<Source>) {
    guard output.isKnown else { return forget(output.source) }
    let entry = findOrCreateEntry(output.source)
    entry.put(nil, failure: output.failure)
    guard let copy = output.copy else { return }
    do throws(SystemError) {
      entry.put(.some(try copy.value(in: arena)), failure: output.failure)
      entry.version = copy.version
      recordLocking()
    } catch {
      entry.failure = SecretProblem(error, reading: name(of: output.source)).sentence
    }
  }
}

private let lastVersion = Atomic<UInt64>(0)

final class SourceEntry {
  var value: SourceValue?
  /// A number that changes with each new value of the source; 0 if there never was a value.
  var version: UInt64 = 0
  var failure: String?
  /// Why requests must not use `value`; `nil` if they may.
  var problem: SecretProblem?
  /// `true` while requests wait for a new result of the source.
  var isPending = false

  func put(_ value: consuming SourceValue?, failure: String?) {
    self.value = value
    (self.failure, problem, isPending) = (failure, nil, false)
  }

  func matches(_ other: borrowing SourceValue) -> Bool { value.withValue { $0.isSame(as: other) } ?? false }

  func copy(mustLock: Bool) throws(SystemError) -> SourceValue.Copy? {
    switch value {
    case .some(let value) where problem == nil: try SourceValue.Copy(of: value, version: version, mustLock: mustLock)
    default: nil
    }
  }
}
