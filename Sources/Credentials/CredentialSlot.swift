internal import System

/// One credential of the keyring: its lines, ready to be written, and how fresh they are.
final class CredentialSlot {
  let entry: Keyring.Entry
  /// nil: not available.
  private(set) var lines: Secret?
  /// Of the same value; nil with it.
  private(set) var patterns: SecretPatterns?
  private(set) var generation: UInt64 = 0
  private(set) var problem: String?
  /// When the value was read that differs from the one before; seconds since 1970.
  private(set) var changedAt: Int64 = 0
  /// What can change it.
  private(set) var names: Set<WatchedName> = []
  var directories: Set<String> { Set(names.map(\.directory)) }

  init(_ entry: Keyring.Entry) {
    self.entry = entry
  }

  /// Reads and renders anew. True when what would be written has changed.
  ///
  /// A value that is unusable leaves the last good one in place, and the problem says so: half-written files are more
  /// common than revocations. A file that is gone takes the value with it, and so does a command whose value's time is over:
  /// lines with an earlier one must not outlive that.
  func load(_ reader: SecretReader) -> Bool {
    // Before reading: a change between the two is noticed
    names = watched()
    do throws(SecretProblem) {
      let fresh = try FieldLines(reader: reader).render(entry.scheme)
      problem = entry.scheme.commands.lazy.compactMap { reader.commands.failure(of: $0) }.first
      if isCurrent(fresh.lines) { return false }
      patterns = fresh.patterns
      lines = .some((consume fresh).lines)
      generation &+= 1
      changedAt = Clock.now.seconds
      return true
    } catch {
      guard hasLines, !error.isMissing, entry.scheme.commands.isEmpty else {
        problem = error.sentence
        let hadLines = hasLines
        lines = nil
        patterns = nil
        return hadLines
      }
      problem = error.sentence + SecretProblem.stillInUse
      return false
    }
  }

  /// Goes on counting where the same credential of an earlier configuration stopped.
  func follow(_ earlier: CredentialSlot) {
    switch earlier.lines {
    case .some(let lines):
      let isSame = isCurrent(lines)
      generation = earlier.generation &+ (isSame ? 0 : 1)
      if isSame { changedAt = earlier.changedAt }
    case .none: generation = earlier.generation &+ (hasLines ? 1 : 0)
    }
  }

  var hasLines: Bool {
    switch lines {
    case .some: true
    case .none: false
    }
  }

  var fingerprint: String? {
    switch lines {
    case .some(let lines): lines.withBytes { FingerprintKey.ofProcess.fingerprint(of: $0) }
    case .none: nil
    }
  }

  private func isCurrent(_ fresh: borrowing Secret) -> Bool {
    switch lines {
    case .some(let lines): lines.isEqual(to: fresh)
    case .none: false
    }
  }

  private func watched() -> Set<WatchedName> {
    var found: Set<WatchedName> = []
    for (source, _) in entry.scheme.sources {
      switch source {
      case .file(let path): found.formUnion(watchedNames(of: path))
      case .systemd(let name):
        guard let file = try? SecretFile.ofUnit(name) else { continue }
        found.formUnion(watchedNames(of: file.path))
      case .env, .command: continue
      }
    }
    return found
  }
}
