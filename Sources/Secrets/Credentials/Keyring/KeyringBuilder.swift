internal import Policy
package import Secrets
package import Settings
internal import System

/// Builds a keyring in steps, so that the worker can serve requests in between. New values and logouts during this time
/// also apply.
package final class KeyringBuilder {
  let plan: KeyringPlan
  let staging: LockedMemory
  let reader: SecretReader
  private(set) var slots: [CredentialSlot] = []
  private let previous: Keyring?
  private let requireLockedMemory: Bool
  private var loggedOut: Set<String>
  private var isUnlocked = false
  package private(set) var keyring: Keyring?

  /// Creates a builder without credentials. Call `build` until the keyring is complete.
  /// - Parameters:
  ///   - loggedOut: credentials that are logged out, whose values are not used.
  ///   - previous: the keyring of the previous configuration, whose secret versions continue.
  package init(
    _ plan: KeyringPlan, requireLockedMemory: Bool, commands: CommandValues = CommandValues(),
    files: FileValues = FileValues(), tokens: TokenValues = TokenValues(), loggedOut: Set<String> = [],
    after previous: Keyring? = nil
  ) throws(AuthorizationError) {
    do {
      staging = try LockedMemory(byteCount: Keyring.stagingSize)
    } catch {
      throw AuthorizationError(reason: .unavailable, detail: "cannot allocate memory for secrets: \(error)")
    }
    reader = SecretReader(arena: SecretArena(), commands: commands, files: files, tokens: tokens)
    self.plan = plan
    self.requireLockedMemory = requireLockedMemory
    self.loggedOut = loggedOut
    self.previous = previous
    slots.reserveCapacity(plan.rows.count)
  }

  /// Builds at least one missing credential, and more while `hasTime` returns `true`. Returns whether the keyring is
  /// complete.
  /// - Parameter pending: files that are still being read, whose credentials keep their previous values until then.
  package func build(pending: Set<SecretSource>, while hasTime: () -> Bool) throws(AuthorizationError) -> Bool {
    while slots.count < plan.rows.count {
      make(plan.rows[slots.count], pending)
      if !hasTime() { return false }
    }
    if keyring == nil { keyring = try Keyring(self) }
    return true
  }

  private func make(_ row: KeyringPlan.Row, _ pending: Set<SecretSource>) {
    let files = reader.files
    for file in row.entry.files where !files.isKnown(file) {
      files.store(SecretFileSnapshot(of: file, mustLock: files.mustLock))
    }
    let slot = CredentialSlot(row, parts: row.parts.map { slots[$0] })
    let earlier = previous.flatMap { previous in previous.plan.indices[slot.entry.grant.name].map { previous.slots[$0] }
    }
    let isPending = !pending.isDisjoint(with: slot.traits.files)
    if let earlier { slot.inherit(earlier, reader, isPending: isPending) }
    if isPending { slot.markPending() } else { _ = slot.load(reader) }
    if let earlier { slot.continueHistory(of: earlier) }
    if loggedOut.contains(where: slot.entry.grant.includes) { slot.logOut() }
    if row.entry.files.contains(where: files.lacksLockedMemory) { isUnlocked = true }
    slots.append(slot)
  }

  /// Throws if all memory must be locked, but some is not.
  func checkLockedMemory(_ isLocked: Bool) throws(AuthorizationError) {
    // After this check, a new value is rejected if its memory cannot be locked.
    guard isLocked && !isUnlocked || !requireLockedMemory else {
      throw AuthorizationError(
        reason: .unavailable,
        detail:
          "the system refuses to lock memory: raise LimitMEMLOCK= of the unit, or set require_locked_memory: false")
    }
    reader.arena.mustLock = requireLockedMemory
    reader.commands.mustLock = requireLockedMemory
    reader.files.mustLock = requireLockedMemory
    reader.tokens.mustLock = requireLockedMemory
  }

  // MARK: changes during the build

  /// Renders the credentials of a changed file again. See `Keyring.reload(file:pending:loggedOut:)`.
  package func reload(file: SecretSource, pending: Set<SecretSource>, loggedOut: Set<String>) {
    _ = slots.reload(plan.users(of: file), reader, pending: pending, loggedOut: loggedOut)
  }

  package func reload(command: SecretCommand) { slots.reload(plan.users(of: command), reader) }

  package func reload(token: TokenSource) { slots.reload(plan.users(of: token), reader) }

  /// Wipes the credential's value in the keyring being built. Keeps the file contents and command outputs from which
  /// the value was made, because other keyrings share them.
  package func logOut(_ credential: String) {
    loggedOut.insert(credential)
    for slot in slots where slot.entry.grant.includes(credential) { slot.logOut() }
  }
}

extension [CredentialSlot] {
  /// Renders the credentials with these indices again, except those with a pending file, and returns the changed
  /// indices.
  func reload(
    _ users: [Int], _ reader: SecretReader, pending: Set<SecretSource>, loggedOut: Set<String>
  ) -> [Int] {
    users.filter { index in
      indices.contains(index) && pending.isDisjoint(with: self[index].traits.files)
        && self[index].load(reader, isFromBeforeLogout: loggedOut.contains(self[index].entry.grant.name))
    }
  }

  func reload(_ users: [Int], _ reader: SecretReader) {
    for index in users where indices.contains(index) { _ = self[index].load(reader) }
  }
}
