package import Settings
package import System

/// The most recent values of secret files.
package final class FileValues: SourceValues<SecretSource> {
  private var facts: [SecretSource: Facts] = [:]
  /// The secret files that each directory entry affects.
  private var byName: [WatchedName: Set<SecretSource>] = [:]
  private var byDirectory: [String: Set<SecretSource>] = [:]

  private struct Facts {
    var names: Set<WatchedName> = []
    var modified: Int64?
  }

  override func name(of source: SecretSource) -> String { source.name }

  override func missingValueProblem(of source: SecretSource, isKnown: Bool) -> SecretProblem {
    SecretProblem("\(source.name) has not been read yet")
  }

  /// The file's modification time when it was last read, in seconds since 1970; `nil` if it could not be read.
  package func modified(_ source: SecretSource) -> Int64? { facts[source]?.modified }

  /// Stores the result of reading a file. Returns whether other directory entries must be watched now.
  @discardableResult
  package func store(_ snapshot: SecretFileSnapshot) -> Bool {
    var new = Facts(names: snapshot.names)
    do throws(SecretProblem) {
      let content = try snapshot.content.get()
      recordLocking(content.memory.isLocked)
      defer { content.memory.wipe() }
      new.modified = content.modified
      let bytes = UnsafeRawBufferPointer(rebasing: content.memory.bytes[..<content.count])
      put(SourceValue(secret: try secretCopy(bytes, name: snapshot.source.name, in: arena)), snapshot.source)
    } catch {
      refuse(snapshot.source, error)
    }
    return put(new, snapshot.source)
  }

  private func refuse(_ source: SecretSource, _ problem: SecretProblem) {
    let entry = findOrCreateEntry(source)
    entry.put(nil, failure: nil)
    entry.problem = problem
  }

  /// Returns the versions of the files' contents; `nil` if a file has no value.
  package func versions(of sources: [SecretSource]) -> [UInt64]? {
    var numbers: [UInt64] = []
    numbers.reserveCapacity(sources.count)
    for source in sources {
      guard let entry = entry(source), entry.value != nil else { return nil }
      numbers.append(entry.version)
    }
    return numbers
  }

  private func put(_ new: Facts?, _ source: SecretSource) -> Bool {
    let (old, names) = (facts[source]?.names ?? [], new?.names ?? [])
    facts[source] = new
    guard old != names else { return false }
    for name in old {
      byName[name]?.remove(source)
      byDirectory[name.directory]?.remove(source)
      if byName[name]?.isEmpty == true { byName[name] = nil }
      if byDirectory[name.directory]?.isEmpty == true { byDirectory[name.directory] = nil }
    }
    for name in names {
      byName[name, default: []].insert(source)
      byDirectory[name.directory, default: []].insert(source)
    }
    return true
  }

  package func lacksLockedMemory(_ source: SecretSource) -> Bool { entry(source)?.problem?.lacksLockedMemory == true }

  /// Records why there is no new value. The current value stays in use.
  /// - Parameter reason: follows the name of the file in messages.
  package func recordDelay(_ source: SecretSource, _ reason: String) { fail(source, "\(source.name) \(reason)") }

  /// Wipes the file's value after a logout.
  package func wipe(_ source: SecretSource) {
    // The file is still watched.
    if isKnown(source) { refuse(source, SecretProblem("\(source.name) has been logged out")) }
  }

  package func keep(only wanted: Set<SecretSource>) {
    for source in sources where !wanted.contains(source) {
      _ = put(nil, source)
      forget(source)
    }
  }

  package var directories: Set<String> { Set(byDirectory.keys) }

  /// Returns the files whose contents may have changed. If `made` is empty, the file must be read again. Otherwise,
  /// `made` has the paths of new directory entries, which are the only changes.
  package func changed(_ changes: [DirectoryWatch.Change]) -> [(source: SecretSource, made: [String])] {
    // A new file is still empty, but a new link already leads to content.
    var found: [SecretSource: [DirectoryWatch.Change]] = [:]
    for change in changes {
      let sources =
        change.name.isEmpty
        ? byDirectory[change.directory] : byName[WatchedName(directory: change.directory, name: change.name)]
      for source in sources ?? [] { found[source, default: []].append(change) }
    }
    return found.map { source, own in
      let areAllNew = own.allSatisfy(\.isNew)
      return (source, areAllNew ? own.map { "\($0.directory)/\($0.name)" } : [])
    }
  }
}
