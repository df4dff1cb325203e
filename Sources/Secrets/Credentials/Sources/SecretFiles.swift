package import System

/// What the files of secrets held when they were read last. Kept here for the keyrings of later configurations, and because
/// one file can be read while another one of the same credential hangs.
package final class SecretFiles {
  private let arena = SecretArena()
  private var all: [SecretSource: Kept] = [:]

  private final class Kept {
    var value: Secret?
    var problem: SecretProblem?
    /// Why the value may be an old one.
    var delay: String?
    var names: Set<WatchedName> = []
    var modified: Int64?
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
  package func take(_ reading: SecretReading) {
    let kept = Kept()
    kept.names = reading.names
    do throws(SecretProblem) {
      let content = try reading.content.get()
      if !content.memory.isLocked { isLocked = false }
      defer { content.memory.wipe() }
      kept.modified = content.modified
      kept.value = try copy(content, of: reading.source)
      if !arena.isLocked { isLocked = false }
    } catch {
      kept.problem = error
    }
    all[reading.source] = kept
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
    for source in all.keys where !wanted.contains(source) { all[source] = nil }
  }

  /// What to watch.
  package var directories: Set<String> {
    all.values.reduce(into: Set()) { $0.formUnion($1.names.map(\.directory)) }
  }

  /// The files that these changes can have changed; a neighbour that is being written is left alone. With each, the names
  /// that have just been made: unless one of them is a link, there is nothing to read yet. None: it is to be read anyway.
  package func changed(_ changes: [DirectoryWatch.Change]) -> [(source: SecretSource, made: [String])] {
    all.compactMap { source, kept in
      let own = changes.filter { change in
        kept.names.contains { $0.directory == change.directory && (change.name.isEmpty || $0.name == change.name) }
      }
      if own.isEmpty { return nil }
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
