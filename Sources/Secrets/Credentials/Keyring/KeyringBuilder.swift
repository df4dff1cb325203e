internal import Policy
package import Secrets
internal import System

/// A keyring in the making: credential by credential, so that the worker can serve requests in between. What is read, granted
/// or logged out meanwhile reaches the credentials that are there; the others begin with it.
package final class KeyringBuilder {
  let plan: KeyringPlan
  let staging: LockedMemory
  let reader: SecretReader
  private(set) var slots: [CredentialSlot] = []
  private let previous: Keyring?
  private let requireLockedMemory: Bool
  /// Credentials that were logged out while the keyring was being made.
  private var loggedOut: Set<String>
  /// Whether some file could not be read for want of locked memory.
  private var isUnlocked = false
  /// The finished keyring; nil: some credentials are still to be made.
  package private(set) var keyring: Keyring?

  /// - Parameters:
  ///   - commands: what commands have printed.
  ///   - files: what files held.
  ///   - tokens: what token endpoints have granted.
  ///   - loggedOut: credentials whose value it does not take over.
  ///   - previous: of the configuration before; generations of credentials of the same name go on from there.
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

  /// Makes one credential at least, if some are left, and more as long as there is time. True: it is whole.
  /// - Parameter pending: files that are being read: a credential that has one of them keeps the lines of before until then,
  ///   or it could be half of one value and half of another.
  package func goOn(pending: Set<SecretSource>, while hasTime: () -> Bool) throws(AuthorizationError) -> Bool {
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
      files.take(SecretFileSnapshot(of: file, mustLock: files.mustLock))
    }
    let slot = CredentialSlot(row, parts: row.parts.map { slots[$0] })
    let earlier = previous.flatMap { previous in previous.plan.indices[slot.entry.grant.name].map { previous.slots[$0] }
    }
    let isPending = !pending.isDisjoint(with: slot.traits.files)
    if let earlier { slot.inherit(earlier, reader, isPending: isPending) }
    if isPending { slot.standBy() } else { _ = slot.load(reader) }
    if let earlier { slot.follow(earlier) }
    if loggedOut.contains(where: slot.entry.grant.includes) { slot.logOut() }
    if row.entry.files.contains(where: files.isUnlocked) { isUnlocked = true }
    slots.append(slot)
  }

  /// Whether all of it lies where it has to. From here on a value that has no locked memory is refused alone, and the one
  /// before it stays.
  func demandLockedMemory(_ isLocked: Bool) throws(AuthorizationError) {
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

  // MARK: meanwhile

  /// See `Keyring.reload(file:pending:loggedOut:)`.
  package func reload(file: SecretSource, pending: Set<SecretSource>, loggedOut: Set<String>) {
    _ = slots.reload(plan.users(of: file), reader, pending: pending, loggedOut: loggedOut)
  }

  package func reload(command: SecretCommand) { slots.reload(plan.users(of: command), reader) }

  package func reload(token: TokenSource) { slots.reload(plan.users(of: token), reader) }

  /// See `Keyring.logOut(_:isCurrent:)`. What others use is not its to wipe.
  package func logOut(_ credential: String) {
    loggedOut.insert(credential)
    for slot in slots where slot.entry.grant.includes(credential) { slot.logOut() }
  }
}

extension [CredentialSlot] {
  /// Loads those anew of which no file is being read. Returns the indices of those that changed.
  func reload(
    _ users: [Int], _ reader: SecretReader, pending: Set<SecretSource>, loggedOut: Set<String>
  ) -> [Int] {
    users.filter { index in
      indices.contains(index) && pending.isDisjoint(with: self[index].traits.files)
        && self[index].load(reader, isOfBefore: loggedOut.contains(self[index].entry.grant.name))
    }
  }

  /// Loads them anew.
  func reload(_ users: [Int], _ reader: SecretReader) {
    for index in users where indices.contains(index) { _ = self[index].load(reader) }
  }
}
