package import System

/// The values of files of secrets when they were read last. One file can be read while another one of the same credential
/// hangs.
package final class FileValues: SourceValues<SecretSource> {
  private var facts: [SecretSource: Facts] = [:]
  /// Files that a change concerns: of one name, and of a directory as a whole.
  private var byName: [WatchedName: Set<SecretSource>] = [:]
  private var byDirectory: [String: Set<SecretSource>] = [:]

  /// Facts of a file when it was read last.
  private struct Facts {
    var names: Set<WatchedName> = []
    var modified: Int64?
  }

  override func name(of source: SecretSource) -> String { source.name }

  override func absence(of source: SecretSource, isKnown: Bool) -> SecretProblem {
    SecretProblem("\(source.name) has not been read yet")
  }

  /// When the file was modified that was read last, in seconds since 1970; nil: it is none.
  package func modified(_ source: SecretSource) -> Int64? { facts[source]?.modified }

  /// Takes what was read in the place of what is there, an earlier problem or value. A keyring keeps its last good value by
  /// itself.
  /// - Returns: whether other names are to be watched for it than before.
  @discardableResult
  package func take(_ reading: SecretFileSnapshot) -> Bool {
    var new = Facts(names: reading.names)
    do throws(SecretProblem) {
      let content = try reading.content.get()
      recordLocking(content.memory.isLocked)
      defer { content.memory.wipe() }
      new.modified = content.modified
      put(SourceValue(secret: try copy(content, of: reading.source)), reading.source)
    } catch {
      refuse(reading.source, error)
    }
    return put(new, reading.source)
  }

  private func refuse(_ source: SecretSource, _ problem: SecretProblem) {
    let entry = madeEntry(source)
    entry.put(nil, failure: nil)
    entry.problem = problem
  }

  /// The numbers of these contents, which tell them from others; nil: some file has none.
  package func numbers(of sources: [SecretSource]) -> [UInt64]? {
    var numbers: [UInt64] = []
    numbers.reserveCapacity(sources.count)
    for source in sources {
      guard let entry = entry(source), entry.hasValue else { return nil }
      numbers.append(entry.number)
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

  package func isUnlocked(_ source: SecretSource) -> Bool { entry(source)?.problem?.isUnlocked == true }

  /// Notes that the file takes long to read, or cannot be read; the value that is there stays.
  package func delay(_ source: SecretSource, _ reason: String) { fail(source, "\(source.name) \(reason)") }

  /// Wipes what a file held, which is of no use any more. The file goes on being watched.
  package func wipe(_ source: SecretSource) {
    if isKnown(source) { refuse(source, SecretProblem("\(source.name) has been logged out")) }
  }

  /// The others are not used any more.
  package func keep(only wanted: Set<SecretSource>) {
    for source in sources where !wanted.contains(source) {
      _ = put(nil, source)
      forget(source)
    }
  }

  /// The directories to watch.
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
