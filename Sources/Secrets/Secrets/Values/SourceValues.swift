internal import Synchronization
internal import System

/// The values that sources of one kind gave last: files, programs or token endpoints. Later configurations go on with them, and
/// need not ask again.
package class SourceValues<Source: Hashable & Sendable> {
  package let arena = SecretArena()
  private var entries: [Source: SourceEntry] = [:]
  /// False when memory could not be locked.
  package private(set) var isLocked = true

  package init() {}

  /// A value lies in locked memory, or nowhere.
  package final var mustLock: Bool {
    get { arena.mustLock }
    set { arena.mustLock = newValue }
  }

  // MARK: what kinds differ in

  /// How messages call it.
  func name(of source: Source) -> String { preconditionFailure("each kind of source has names") }

  /// Why a source without a value has none, if it has not failed.
  /// - Parameter isKnown: false: it has given no answer yet.
  func absence(of source: Source, isKnown: Bool) -> SecretProblem {
    preconditionFailure("each kind of source says why it has no value")
  }

  /// The end of messages about a value that stays although its source has failed.
  var stillInUse: String { SecretProblem.stillInUse }

  // MARK: changes

  final var sources: [Source] { Array(entries.keys) }

  final func entry(_ source: Source) -> SourceEntry? { entries[source] }

  final func madeEntry(_ source: Source) -> SourceEntry {
    if let entry = entries[source] { return entry }
    let entry = SourceEntry()
    entries[source] = entry
    return entry
  }

  /// Puts a value in the place of what is there.
  final func put(_ value: consuming SourceValue, _ source: Source) {
    let entry = madeEntry(source)
    if !entry.holds(value) { entry.number = lastNumber.add(1, ordering: .relaxed).newValue }
    entry.put(.some(value), failure: nil)
    recordLocking()
  }

  final func recordLocking(_ areLocked: Bool = true) { if !areLocked || !arena.isLocked { isLocked = false } }

  /// Notes that no new value came, and why; the one that is there stays.
  package func fail(_ source: Source, _ sentence: String) { madeEntry(source).failure = sentence }

  /// Wipes the value, whose time is over.
  package final func expire(_ source: Source) {
    let entry = madeEntry(source)
    entry.put(nil, failure: entry.failure)
  }

  /// Forgets a source that is not used any more.
  package final func forget(_ source: Source) { entries[source] = nil }

  // MARK: what is there

  /// Whether it has been asked, and has answered or not.
  package final func isKnown(_ source: Source) -> Bool { entries[source].map { !$0.isAwaited } ?? false }

  /// Identifies the value: another one has another number; 0: there never was one.
  package final func number(of source: Source) -> UInt64 { entries[source]?.number ?? 0 }

  /// Why the value is not renewed, if there is one.
  package final func failure(of source: Source) -> String? { entries[source]?.failure.map { $0 + stillInUse } }

  /// Appends a copy to `secret`.
  /// - Parameter isUser: of the user's name that it gave.
  final func append(_ source: Source, isUser: Bool = false, to secret: inout Secret) throws(SecretProblem) {
    guard let entry = entries[source] else { throw absence(of: source, isKnown: false) }
    if let problem = entry.problem { throw problem }
    switch entry.value {
    case .none:
      let absence = absence(of: source, isKnown: true)
      throw entry.failure.map { SecretProblem($0, isMissing: absence.isMissing) } ?? absence
    case .some(let value):
      do throws(SystemError) {
        try value.withPart(isUser: isUser) { (bytes) throws(SystemError) in try secret.append(bytes) }
      } catch {
        throw SecretProblem(error, reading: name(of: source))
      }
    }
  }

  // MARK: from one thread to another

  /// How a source stands. Without memory for a copy there is none of its value, and that is a failure.
  package final func output(of source: Source) -> SourceOutput<Source> {
    guard isKnown(source), let entry = entries[source] else { return SourceOutput(source, isKnown: false) }
    do throws(SystemError) {
      return SourceOutput(source, copy: try entry.copy(mustLock: mustLock), failure: entry.failure)
    } catch {
      return SourceOutput(source, failure: SecretProblem(error, reading: name(of: source)).sentence)
    }
  }

  /// Takes over how a source stands in another thread.
  package final func adopt(_ output: SourceOutput<Source>) {
    guard output.isKnown else { return forget(output.source) }
    let entry = madeEntry(output.source)
    entry.put(nil, failure: output.failure)
    guard let copy = output.copy else { return }
    do throws(SystemError) {
      entry.put(.some(try copy.value(in: arena)), failure: output.failure)
      entry.number = copy.number
      recordLocking()
    } catch {
      entry.failure = SecretProblem(error, reading: name(of: output.source)).sentence
    }
  }
}

/// The number that the process gave to a value last.
private let lastNumber = Atomic<UInt64>(0)

/// The output of one source.
final class SourceEntry {
  var value: SourceValue?
  /// Another value has another number; 0: there never was one.
  var number: UInt64 = 0
  /// Why there is no newer value; nil: nothing was wrong.
  var failure: String?
  /// Why the value, if there is one, is not used.
  var problem: SecretProblem?
  /// The source is asked just now, and requests wait for its answer.
  var isAwaited = false

  func put(_ value: consuming SourceValue?, failure: String?) {
    self.value = value
    (self.failure, problem, isAwaited) = (failure, nil, false)
  }

  var hasValue: Bool {
    switch value {
    case .some: true
    case .none: false
    }
  }

  func holds(_ other: borrowing SourceValue) -> Bool {
    switch value {
    case .some(let value): value.isSame(as: other)
    case .none: false
    }
  }

  /// nil: there is no value that is used.
  func copy(mustLock: Bool) throws(SystemError) -> SourceValue.Copy? {
    switch value {
    case .some(let value) where problem == nil: try SourceValue.Copy(of: value, number: number, mustLock: mustLock)
    default: nil
    }
  }
}
