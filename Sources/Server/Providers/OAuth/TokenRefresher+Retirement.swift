internal import Lifecycle
internal import Secrets

/// The end of a keeper: of the daemon, or of the configuration that named its token.
///
/// A server that rotates refresh tokens takes the old one no more once it has answered (RFC 6749 section 6, RFC 9700 section
/// 4.14.2). A question that it may have read is therefore answered, and its refresh token stored, before the keeper ends (T68).
extension TokenRefresher {
  /// No further question is asked. `onEnd` is called once, perhaps from within this call, when nothing is under way any more.
  func retire(_ why: String, onEnd: @escaping () -> Void) {
    loginAttempt?.cancel(why)
    (loginAttempt, waitingLogin) = (nil, nil)
    if asking?.isSent != true { stopAsking() }
    succession.onRetired = onEnd
    // Granted before, and not written yet because the disk refused it: this is the last chance.
    if !isStoring, let number = renewal.beginLastStore() { store(number) }
    endRetirement()
  }

  /// Ends the retirement once the last question has its answer, and the disk has it, too.
  func endRetirement() {
    guard asking == nil, !isStoring, let onRetired = succession.onRetired else { return }
    stop()
    succession.onRetired = nil
    onRetired()
  }

  /// Runs `work` at once where this is the first keeper of its login, else when the one before has ended.
  func whenFirst(_ work: @escaping () -> Void) {
    if succession.isFirst { work() } else { succession.add(work) }
  }

  /// Whether both would ask a server with the same refresh token, or write the same file.
  func hasLogin(of other: TokenSource) -> Bool {
    source.credential == other.credential || source.store != nil && source.store == other.store
  }
}

/// The order of the keepers of one login, from configuration to configuration: one question at a time, and each with the refresh
/// token that the one before brought.
struct TokenSuccession {
  /// Called once nothing of a keeper that is no longer wanted is under way; nil: it is wanted, or has ended.
  var onRetired: (() -> Void)?
  /// Whether what it asks for is wanted no more.
  var hasEnded = false
  private var predecessors: Set<ObjectIdentifier> = []
  private var waiting: [() -> Void] = []

  var isRetired: Bool { onRetired != nil }

  /// This one has to end first.
  mutating func await(_ predecessor: TokenRefresher) { predecessors.insert(ObjectIdentifier(predecessor)) }

  var isFirst: Bool { predecessors.isEmpty }

  /// To be done once the last predecessor has ended.
  mutating func add(_ work: @escaping () -> Void) { waiting.append(work) }

  /// - Returns: what can be done now that this keeper has ended.
  mutating func ended(_ keeper: TokenRefresher) -> [() -> Void] {
    guard predecessors.remove(ObjectIdentifier(keeper)) != nil, predecessors.isEmpty else { return [] }
    defer { waiting = [] }
    return waiting
  }
}
