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

    /// Those of a token endpoint as well, which are in no line.
    var files: [SecretSource] { scheme.files + (scheme.token?.sources.map(\.source).filter(\.isFile) ?? []) }
    var commands: [SecretCommand] {
      scheme.commands + (scheme.token?.sources.compactMap(\.source.command) ?? [])
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
  /// Number of the configuration whose keyring this is: a session that was opened under another one gets no credential, since
  /// what that one asked of the upstream's certificate may not be what this one asks.
  package var configuration: UInt64 = 1
  /// Where cookies are kept, once this keyring is in use; nil: nowhere.
  package var jars: CookieJars? { didSet { for slot in slots { slot.jars = jars } } }

  /// Missing secrets are no error: see `status`. Runs no command, and reads no file that has been read already.
  /// - Parameters:
  ///   - commands: what commands have printed.
  ///   - files: what files held.
  ///   - tokens: what token endpoints have granted.
  ///   - pending: files that are being read: a credential that has one of them keeps the lines of before until then, or it
  ///     could be half of one value and half of another.
  ///   - previous: of the configuration before; generations of credentials of the same name go on from there.
  package init(
    entries: [Entry], requireLockedMemory: Bool, commands: CommandSecrets = CommandSecrets(),
    files: SecretFiles = SecretFiles(), tokens: TokenValues = TokenValues(), pending: Set<SecretSource> = [],
    after previous: Keyring? = nil
  ) throws(Denied) {
    do {
      staging = try LockedMemory(byteCount: Self.stagingSize)
    } catch {
      throw Denied(reason: .unavailable, detail: "there is no memory for secrets: \(error)")
    }
    reader = SecretReader(arena: SecretArena(), commands: commands, files: files, tokens: tokens)
    slots = entries.reduce(into: []) { slots, entry in
      // They stand ahead of it.
      let parts = entry.grant.parts.compactMap { part in slots.first { $0.entry.grant.name == part.name } }
      slots.append(CredentialSlot(entry, parts: parts))
    }
    for file in Set(entries.flatMap(\.files)) where !files.isKnown(file) {
      files.take(SecretReading(of: file, mustLock: files.mustLock))
    }
    for slot in slots {
      let earlier = previous?.slots.first { $0.entry.grant.name == slot.entry.grant.name }
      let isPending = !pending.isDisjoint(with: slot.entry.scheme.files)
      if let earlier { slot.inherit(earlier, reader, isPending: isPending) }
      if isPending { slot.standBy() } else { _ = slot.load(reader) }
      if let earlier { slot.follow(earlier) }
    }
    let isUnlocked = !isLocked || slots.contains { $0.entry.files.contains(where: files.isUnlocked) }
    guard !isUnlocked || !requireLockedMemory else {
      throw Denied(
        reason: .unavailable,
        detail:
          "the system refuses to lock memory: raise LimitMEMLOCK= of the unit, or set require_locked_memory: false")
    }
    // From here on a value that has no locked memory is refused alone, and the one before it stays
    reader.arena.mustLock = requireLockedMemory
    commands.mustLock = requireLockedMemory
    files.mustLock = requireLockedMemory
    tokens.mustLock = requireLockedMemory
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

  /// What to look for in the answer to the request that `authorize` has just written: the credential's value, and what went out
  /// in its place or beside it. nil: nothing was written. Whoever asks has it; nothing is kept here for longer.
  package func takeSent(ofGrant index: Int) -> SecretPatterns? {
    slots.indices.contains(index) ? slots[index].sent.take() : nil
  }

  /// What to look for of the credential's own value; nil: there is none.
  package func patterns(ofGrant index: Int) -> SecretPatterns? {
    slots.indices.contains(index) ? slots[index].patterns : nil
  }

  /// False when memory could not be locked.
  package var isLocked: Bool {
    staging.isLocked && reader.arena.isLocked && reader.commands.isLocked && reader.files.isLocked
      && reader.tokens.isLocked
  }
}

// MARK: - Files

extension Keyring {
  package var fileContents: SecretFiles { reader.files }

  /// Those that its secrets are in, and those that its token endpoints are shown; each once.
  package var files: Set<SecretSource> { Set(slots.flatMap(\.entry.files)) }

  /// Whether some of a credential's secrets are in files.
  package func hasFiles(grant index: Int) -> Bool { slots.indices.contains(index) && slots[index].hasFiles }

  /// Those of one credential.
  package func files(ofGrant index: Int) -> [SecretSource] {
    slots.indices.contains(index) ? slots[index].entry.scheme.files : []
  }

  /// Takes over what is known of a file now. Keeps the last good value when a new one is unusable (and says so in
  /// `status.problem`); a deleted file makes it unavailable. Returns indices of grants that changed.
  /// - Parameters:
  ///   - pending: files that are still being read: a credential that has one of them stays as it is until then, or it could be
  ///     half of one value and half of another.
  ///   - loggedOut: credentials that somebody has logged out since the file was asked for: it may hold what they had then.
  package func reload(file: SecretSource, pending: Set<SecretSource> = [], loggedOut: Set<String> = []) -> [Int] {
    slots.indices.filter { index in
      let entry = slots[index].entry
      return entry.scheme.files.contains(file) && pending.isDisjoint(with: entry.scheme.files)
        && slots[index].load(reader, isOfBefore: loggedOut.contains(entry.grant.name))
    }
  }
}

// MARK: - Commands

extension Keyring {
  /// Whose output some credential needs that nobody has logged out; each once.
  package var commands: Set<SecretCommand> { Set(slots.filter { !$0.isLoggedOut }.flatMap(\.entry.commands)) }

  package var commandOutputs: CommandSecrets { reader.commands }

  /// What comes from there has to be, wherever it is used.
  func forms(of source: SecretSource) -> [SecretForm] {
    slots.flatMap(\.entry.scheme.sources).filter { $0.source == source }.map(\.form)
  }

  /// Reads its value again. Returns the indices of the grants that use it.
  package func reload(command: SecretCommand) -> [Int] {
    let users = slots.indices.filter { slots[$0].entry.scheme.commands.contains(command) }
    for index in users { _ = slots[index].load(reader) }
    return users
  }

  /// Whether some program wants to hear what upstreams think of what it gave.
  package func hasListeners(grant index: Int) -> Bool { slots.indices.contains(index) && slots[index].hasListeners }

  /// What such programs gave for the value that is written now.
  package func heardValues(ofGrant index: Int) -> [HelperValue] {
    guard slots.indices.contains(index) else { return [] }
    return Set(slots[index].entry.scheme.commands).filter(\.isListener).map {
      HelperValue(command: $0, number: reader.commands.number(of: $0))
    }
  }

  /// Whether it is only not available because a command's first run has not ended.
  package func isAwaited(grant index: Int) -> Bool {
    slots.indices.contains(index) && slots[index].entry.commands.contains { reader.commands.isAwaited($0) }
  }
}
