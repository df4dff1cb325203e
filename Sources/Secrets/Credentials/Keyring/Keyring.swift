package import Policy
package import Redaction
package import Secrets
internal import System

/// All credentials of one configuration: the only holder of secrets, and the only way out for one (`authorize`).
package final class Keyring {
  package struct Entry: Sendable {
    package let grant: Grant
    package let scheme: AuthScheme

    package init(grant: Grant, scheme: AuthScheme) {
      self.grant = grant
      self.scheme = scheme
    }

    /// The files of the credential's secrets, with those that only its token endpoint is shown.
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

  let plan: KeyringPlan
  let slots: [CredentialSlot]
  /// The memory where a request and its credential meet on their way into TLS; zero except during `authorize`.
  let staging: LockedMemory
  let reader: SecretReader
  /// Number of the configuration whose keyring this is: a session that was opened under another one gets no credential, since
  /// what that one asked of the upstream's certificate may not be what this one asks.
  package var configuration: UInt64 {
    get { configurationNumber }
    set { configurationNumber = newValue }
  }
  // Seen here alone, so that the compiler can prove each access to it alone.
  private var configurationNumber: UInt64 = 1
  /// The jars of cookies, once this keyring is in use; nil: there are none.
  package internal(set) var jars: CookieJars?

  /// Missing secrets are no error: see `status`. Runs no command, and reads no file that has been read already.
  /// - Parameters:
  ///   - commands: what commands have printed.
  ///   - files: what files held.
  ///   - tokens: what token endpoints have granted.
  ///   - pending: files that are being read: a credential that has one of them keeps the lines of before until then, or it
  ///     could be half of one value and half of another.
  ///   - previous: of the configuration before; generations of credentials of the same name go on from there.
  package convenience init(
    entries: [Entry], requireLockedMemory: Bool, commands: CommandValues = CommandValues(),
    files: FileValues = FileValues(), tokens: TokenValues = TokenValues(), pending: Set<SecretSource> = [],
    after previous: Keyring? = nil
  ) throws(AuthorizationError) {
    let draft = try KeyringBuilder(
      KeyringPlan(entries), requireLockedMemory: requireLockedMemory, commands: commands, files: files, tokens: tokens,
      after: previous)
    _ = try draft.goOn(pending: pending) { true }
    try self.init(draft)
  }

  /// - Parameter draft: one that is whole. Only the first keyring that is made of it may be used.
  init(_ draft: KeyringBuilder) throws(AuthorizationError) {
    (plan, slots, staging, reader) = (draft.plan, draft.slots, draft.staging, draft.reader)
    try draft.demandLockedMemory(isLocked)
  }

  /// One TLS record's plaintext (RFC 8446 section 5.1).
  static let stagingSize = 16_384

  package var grantCount: Int { slots.count }

  package func status(ofGrant index: Int) -> Status {
    guard slots.indices.contains(index) else { return Status(generation: 0, problem: "there is no such credential") }
    return Status(generation: slots[index].history.generation, problem: slots[index].problem)
  }

  /// Whether there is something to write. False: `status` says why, and nothing may be sent.
  package func isAvailable(grant index: Int) -> Bool { slots.indices.contains(index) && slots[index].rendered.isThere }

  /// Counts up each time the secret's bytes change; 0: never loaded.
  package func generation(ofGrant index: Int) -> UInt64 {
    slots.indices.contains(index) ? slots[index].history.generation : 0
  }

  /// When its value last changed, or was first read; seconds since 1970. 0: never loaded.
  package func changedAt(ofGrant index: Int) -> Int64 {
    slots.indices.contains(index) ? slots[index].history.changedAt : 0
  }

  /// Eight hexadecimal digits that tell one value from another, as long as this process runs; nil: there is no value.
  package func fingerprint(ofGrant index: Int) -> String? {
    slots.indices.contains(index) ? slots[index].fingerprint : nil
  }

  /// The patterns to look for in the answer to the request that `authorize` has just written: the credential's value, and what
  /// went out in its place or beside it. nil: nothing was written. The caller takes it over; nothing is kept here for longer.
  package func takeSent(ofGrant index: Int) -> SecretPatterns? {
    slots.indices.contains(index) ? slots[index].sent.take() : nil
  }

  /// The patterns of the credential's own value; nil: there is none.
  package func patterns(ofGrant index: Int) -> SecretPatterns? {
    slots.indices.contains(index) ? slots[index].rendered.patterns : nil
  }

  /// False when memory could not be locked.
  package var isLocked: Bool {
    staging.isLocked && reader.arena.isLocked && reader.commands.isLocked && reader.files.isLocked
      && reader.tokens.isLocked
  }
}

/// The credentials of a keyring that is no longer in use. Each is wiped as it goes.
package struct KeyringRemains {
  private var slots: [CredentialSlot]

  package init(_ keyring: Keyring) { slots = keyring.slots }

  /// Lets some go, and more as long as there is time. True: all have gone.
  package mutating func dismantle(while hasTime: () -> Bool) -> Bool {
    while slots.popLast() != nil { if !hasTime() { break } }
    return slots.isEmpty
  }
}

// MARK: - Files

extension Keyring {
  package var fileContents: FileValues { reader.files }

  /// The files that secrets are in, including those that only token endpoints are shown; each once.
  package var files: Set<SecretSource> { plan.files }

  /// Whether some of a credential's secrets are in files.
  package func hasFiles(grant index: Int) -> Bool { slots.indices.contains(index) && slots[index].traits.hasFiles }

  /// The files that one credential's lines are made of.
  package func files(ofGrant index: Int) -> [SecretSource] {
    slots.indices.contains(index) ? slots[index].traits.files : []
  }

  /// Takes over what is known of a file now. Keeps the last good value when a new one is unusable (and says so in
  /// `status.problem`); a deleted file makes it unavailable. Returns indices of grants that changed.
  /// - Parameters:
  ///   - pending: files that are still being read: a credential that has one of them stays as it is until then, or it could be
  ///     half of one value and half of another.
  /// - loggedOut: credentials that were logged out after the file was asked for: it may hold what they had then.
  package func reload(file: SecretSource, pending: Set<SecretSource> = [], loggedOut: Set<String> = []) -> [Int] {
    slots.reload(plan.users(of: file), reader, pending: pending, loggedOut: loggedOut)
  }

  /// Indices of the grants whose lines have what is in the file.
  package func users(of file: SecretSource) -> [Int] { plan.users(of: file) }
}

// MARK: - Commands

extension Keyring {
  /// The commands whose output some credential needs that is not logged out; each once.
  package var commands: Set<SecretCommand> {
    plan.commanding.reduce(into: []) { if !slots[$1].isLoggedOut { $0.formUnion(plan.rows[$1].commands) } }
  }

  package var commandOutputs: CommandValues { reader.commands }

  /// The forms that a source's value has to have, wherever it is used.
  func forms(of source: SecretSource) -> [SecretForm] {
    let users = source.command.map { plan.users(of: $0) } ?? Array(slots.indices)
    return users.flatMap { slots[$0].entry.scheme.sources }.filter { $0.source == source }.map(\.form)
  }

  /// Reads its value again. Returns the indices of the grants that use it.
  package func reload(command: SecretCommand) -> [Int] {
    slots.reload(plan.users(of: command), reader)
    return plan.users(of: command)
  }

  /// Indices of grants that have its output in what they write.
  package func users(of command: SecretCommand) -> [Int] { plan.users(of: command) }

  /// Whether some program wants to hear what upstreams think of what it gave.
  package func hasListeners(grant index: Int) -> Bool {
    slots.indices.contains(index) && slots[index].traits.hasListeners
  }

  /// The values that such programs gave for what is written now.
  package func helperValues(ofGrant index: Int) -> [HelperValue] {
    guard slots.indices.contains(index) else { return [] }
    return Set(slots[index].entry.scheme.commands).filter(\.isListener).map {
      HelperValue(command: $0, number: reader.commands.number(of: $0))
    }
  }

  /// Whether it is only not available because a command's first run has not ended.
  package func isAwaited(grant index: Int) -> Bool {
    slots.indices.contains(index) && plan.rows[index].commands.contains { reader.commands.isAwaited($0) }
  }
}
