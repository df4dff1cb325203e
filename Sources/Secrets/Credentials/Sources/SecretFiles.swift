internal import Synchronization
package import System

/// What the files of secrets held when they were read last. Kept here for the keyrings of later configurations, and because
/// one file can be read while another one of the same credential hangs.
package final class SecretFiles {
  private let arena = SecretArena()
  private var all: [SecretSource: Kept] = [:]
  /// Those that a change concerns: of one name, and of a directory as a whole.
  private var byName: [WatchedName: Set<SecretSource>] = [:]
  private var byDirectory: [String: Set<SecretSource>] = [:]
  /// Of all contents that the process has seen.
  private static let lastNumber = Atomic<UInt64>(0)

  private final class Kept {
    var value: Secret?
    /// Of the value: another one has another number.
    var number: UInt64 = 0
    var problem: SecretProblem?
    /// Why the value may be an old one.
    var delay: String?
    var names: Set<WatchedName> = []
    var modified: Int64?

    var hasValue: Bool {
      switch value {
      case .some: true
      case .none: false
      }
    }

    func holds(_ other: borrowing Secret) -> Bool {
      switch value {
      case .some(let value): value.isEqual(to: other)
      case .none: false
      }
    }
  }

  package init() {}

  /// A file is read into locked memory, or not at all.
  package internal(set) var mustLock: Bool {
    get { arena.mustLock }
    set { arena.mustLock = newValue }
  }

  /// False when memory could not be locked.
  package private(set) var isLocked = true

  package func isKnown(_ source: SecretSource) -> Bool { all[source] != nil }

  /// When the file was modified that was read last, in seconds since 1970; nil: it is none.
  package func modified(_ source: SecretSource) -> Int64? { all[source]?.modified }

  /// Takes what was read in the place of what is there, an earlier problem or value. A keyring keeps its last good value by
  /// itself.
  /// - Returns: whether other names are to be watched for it than before.
  @discardableResult
  package func take(_ reading: SecretReading) -> Bool {
    let kept = Kept()
    kept.names = reading.names
    do throws(SecretProblem) {
      let content = try reading.content.get()
      if !content.memory.isLocked { isLocked = false }
      defer { content.memory.wipe() }
      kept.modified = content.modified
      let value = try copy(content, of: reading.source)
      kept.number = number(of: value, after: all[reading.source])
      kept.value = .some(value)
      if !arena.isLocked { isLocked = false }
    } catch {
      kept.problem = error
    }
    return put(kept, reading.source)
  }

  private func number(of value: borrowing Secret, after earlier: Kept?) -> UInt64 {
    if let earlier, earlier.holds(value) { return earlier.number }
    return Self.lastNumber.add(1, ordering: .relaxed).newValue
  }

  /// What tells these contents from others; nil: some file has none.
  func numbers(of sources: [SecretSource]) -> [UInt64]? {
    var numbers: [UInt64] = []
    numbers.reserveCapacity(sources.count)
    for source in sources {
      guard let kept = all[source], kept.hasValue else { return nil }
      numbers.append(kept.number)
    }
    return numbers
  }

  private func put(_ kept: Kept?, _ source: SecretSource) -> Bool {
    let (old, new) = (all[source]?.names ?? [], kept?.names ?? [])
    all[source] = kept
    guard old != new else { return false }
    for name in old {
      byName[name]?.remove(source)
      byDirectory[name.directory]?.remove(source)
      if byName[name]?.isEmpty == true { byName[name] = nil }
      if byDirectory[name.directory]?.isEmpty == true { byDirectory[name.directory] = nil }
    }
    for name in new {
      byName[name, default: []].insert(source)
      byDirectory[name.directory, default: []].insert(source)
    }
    return true
  }

  func isUnlocked(_ source: SecretSource) -> Bool { all[source]?.problem?.isUnlocked == true }

  /// It takes long to read, or cannot be: what is there stays.
  package func delay(_ source: SecretSource, _ reason: String) {
    let kept = all[source] ?? Kept()
    kept.delay = "\(source.name) \(reason)"
    all[source] = kept
  }

  /// What it held is of no use to anybody any more. It goes on being watched.
  func wipe(_ source: SecretSource) {
    guard let kept = all[source] else { return }
    kept.value = nil
    kept.problem = SecretProblem("\(source.name) has been logged out")
  }

  /// Nobody uses the others any more.
  package func keep(only wanted: Set<SecretSource>) {
    for source in Array(all.keys) where !wanted.contains(source) { _ = put(nil, source) }
  }

  /// What to watch.
  package var directories: Set<String> { Set(byDirectory.keys) }

  /// The files that these changes can have changed; a neighbour that is being written is left alone. With each, the names
  /// that have just been made: unless one of them is a link, there is nothing to read yet. None: it is to be read anyway.
  package func changed(_ changes: [DirectoryWatch.Change]) -> [(source: SecretSource, made: [String])] {
    var found: [SecretSource: [DirectoryWatch.Change]] = [:]
    for change in changes {
      let sources =
        change.name.isEmpty
        ? byDirectory[change.directory] : byName[WatchedName(directory: change.directory, name: change.name)]
      for source in sources ?? [] { found[source, default: []].append(change) }
    }
    return found.map { source, own in
      let isMade = own.allSatisfy(\.isNew)
      return (source, isMade ? own.map { "\($0.directory)/\($0.name)" } : [])
    }
  }

  /// Why the value is not renewed, if there is one.
  func failure(of source: SecretSource) -> String? { all[source]?.delay.map { $0 + SecretProblem.stillInUse } }

  /// Appends a copy to `secret`.
  func append(_ source: SecretSource, to secret: inout Secret) throws(SecretProblem) {
    guard let kept = all[source] else { throw SecretProblem("\(source.name) has not been read yet") }
    switch kept.value {
    case .none: throw kept.problem ?? SecretProblem(kept.delay ?? "\(source.name) has not been read yet")
    case .some(let value):
      do throws(SystemError) {
        try value.withBytes { (bytes) throws(SystemError) in try secret.append(bytes) }
      } catch {
        throw SecretProblem(error, reading: source.name)
      }
    }
  }

  private func copy(_ content: SecretFile.Content, of source: SecretSource) throws(SecretProblem) -> Secret {
    do throws(SystemError) {
      var secret = try Secret(capacity: content.count, in: arena)
      try secret.append(UnsafeRawBufferPointer(rebasing: content.memory.bytes[..<content.count]))
      return secret
    } catch {
      throw SecretProblem(error, reading: source.name)
    }
  }
}
