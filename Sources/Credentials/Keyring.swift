package import Policy
internal import System

/// All credentials of one configuration: the only holder of secrets, and the only door (`authorize`).
package final class Keyring {
  package struct Entry: Sendable {
    package let grant: Grant
    package let scheme: AuthScheme

    package init(grant: Grant, scheme: AuthScheme) {
      self.grant = grant
      self.scheme = scheme
    }
  }

  package struct Status: Sendable, Equatable {
    /// Counts up each time the secret's bytes change; 0: never loaded.
    package let generation: UInt64
    /// nil: fine; else why it is not available, or not renewed (one sentence with what to do).
    package let problem: String?

    package init(generation: UInt64, problem: String?) {
      self.generation = generation
      self.problem = problem
    }
  }

  let slots: [CredentialSlot]
  /// Where a request and its credential meet on their way into TLS; zero except during `authorize`.
  let staging: LockedMemory
  let reader: SecretReader

  /// Reads every source. Missing secrets are no error: see `status`. Runs no command.
  /// - Parameters:
  ///   - commands: what commands have printed.
  ///   - previous: of the configuration before; generations of credentials of the same name go on from there.
  package init(
    entries: [Entry], requireLockedMemory: Bool, commands: CommandSecrets = CommandSecrets(),
    after previous: Keyring? = nil
  ) throws(Denied) {
    do {
      staging = try LockedMemory(byteCount: Self.stagingSize)
    } catch {
      throw Denied(reason: .unavailable, detail: "there is no memory for secrets: \(error)")
    }
    reader = SecretReader(arena: SecretArena(), commands: commands)
    slots = entries.map { CredentialSlot($0) }
    for slot in slots {
      _ = slot.load(reader)
      if let earlier = previous?.slots.first(where: { $0.entry.grant.name == slot.entry.grant.name }) {
        slot.follow(earlier)
      }
    }
    guard isLocked || !requireLockedMemory else {
      throw Denied(
        reason: .unavailable,
        detail:
          "the system refuses to lock memory: raise LimitMEMLOCK= of the unit, or set require_locked_memory: false")
    }
    // From here on a value that has no locked memory is refused alone, and the one before it stays
    reader.arena.mustLock = requireLockedMemory
    commands.mustLock = requireLockedMemory
  }

  /// One TLS record's plaintext (RFC 8446 section 5.1).
  static let stagingSize = 16_384

  package var grantCount: Int { slots.count }

  package func status(ofGrant index: Int) -> Status {
    guard slots.indices.contains(index) else { return Status(generation: 0, problem: "there is no such credential") }
    return Status(generation: slots[index].generation, problem: slots[index].problem)
  }

  /// Whether there is something to write. False: `status` says why, and nothing may be sent.
  package func isAvailable(grant index: Int) -> Bool { slots.indices.contains(index) && slots[index].hasLines }

  /// Counts up each time the secret's bytes change; 0: never loaded.
  package func generation(ofGrant index: Int) -> UInt64 { slots.indices.contains(index) ? slots[index].generation : 0 }

  /// When its value last changed, or was first read; seconds since 1970. 0: never loaded.
  package func changedAt(ofGrant index: Int) -> Int64 { slots.indices.contains(index) ? slots[index].changedAt : 0 }

  /// Eight hexadecimal digits that tell one value from another, as long as this process runs; nil: there is no value.
  package func fingerprint(ofGrant index: Int) -> String? {
    slots.indices.contains(index) ? slots[index].fingerprint : nil
  }

  /// What to look for in the answer to a request that is authorised now; nil: there is no value.
  package func patterns(ofGrant index: Int) -> SecretPatterns? {
    slots.indices.contains(index) ? slots[index].patterns : nil
  }

  /// False when memory could not be locked.
  package var isLocked: Bool { staging.isLocked && reader.arena.isLocked && reader.commands.isLocked }

  /// Directories to watch for changed secret files, sorted. Ask again after each `reload`: links may lead elsewhere then.
  package var directories: [String] {
    slots.reduce(into: Set()) { $0.formUnion($1.directories) }.sorted()
  }

  /// Reads again the secrets that these names in these directories belong to; an empty name is everything in its directory.
  /// A neighbour that is being written is left alone. Keeps the last good value when a new one is unusable (and says so in
  /// `status.problem`); a deleted file makes it unavailable. Returns indices of grants that changed.
  package func reload(changes: [(directory: String, name: String)]) -> [Int] {
    slots.indices.filter { index in
      let names = slots[index].names
      let isConcerned = changes.contains { change in
        names.contains { $0.directory == change.directory && (change.name.isEmpty || $0.name == change.name) }
      }
      return isConcerned && slots[index].load(reader)
    }
  }

  /// Reads one credential again. True when it changed.
  package func reload(grant index: Int) -> Bool { slots.indices.contains(index) && slots[index].load(reader) }

  /// The same for everything in these directories.
  package func reload(directories: Set<String>) -> [Int] {
    reload(changes: directories.map { ($0, "") })
  }
}

// MARK: - Commands

extension Keyring {
  /// Whose output some credential needs; each once.
  package var commands: Set<SecretCommand> { Set(slots.flatMap(\.entry.scheme.commands)) }

  /// What its output has to be, wherever it is used.
  func forms(of command: SecretCommand) -> [SecretForm] {
    slots.flatMap(\.entry.scheme.sources).filter { $0.source == .command(command) }.map(\.form)
  }

  /// Reads its value again. Returns the indices of the grants that use it.
  package func reload(command: SecretCommand) -> [Int] {
    let users = slots.indices.filter { slots[$0].entry.scheme.commands.contains(command) }
    for index in users { _ = slots[index].load(reader) }
    return users
  }

  /// Whether it is only not available because a command's first run has not ended.
  package func isAwaited(grant index: Int) -> Bool {
    slots.indices.contains(index) && slots[index].entry.scheme.commands.contains { reader.commands.isAwaited($0) }
  }
}
