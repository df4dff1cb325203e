internal import Lifecycle
internal import Settings

/// Ends a refresher when the daemon stops, or when the configuration no longer names its token (T68).
extension TokenRefresher {
  /// Ends the refresher. Calls `onEnd` once, perhaps within this call, when its last request and write have ended.
  /// - Parameter why: the reason for the clients of a login in progress.
  func retire(_ why: String, onEnd: @escaping () -> Void) {
    loginAttempt?.fail(why)
    (loginAttempt, waitingLogin) = (nil, nil)
    if activeQuery?.isSent != true { stopAsking() }
    succession.onRetired = onEnd
    // The last chance to store a token whose earlier write failed.
    if !isStoring, let number = renewal.beginLastStore() { store(number) }
    endRetirement()
  }

  /// Completes the retirement if no response and no write is pending.
  func endRetirement() {
    guard activeQuery == nil, !isStoring, succession.isRetired else { return }
    stop()
    succession.onRetired.take()?()
  }

  /// Runs `work` when all earlier refreshers of the login have ended, immediately if there are none.
  func oncePredecessorsEnded(_ work: @escaping () -> Void) {
    if succession.isFirst { work() } else { succession.add(work) }
  }

  /// Whether both sources would send the same refresh token, or write the same file.
  func sharesLogin(with other: TokenSource) -> Bool {
    source.credential == other.credential || source.store != nil && source.store == other.store
  }
}

/// The order of the refreshers of one login over several configurations. Only one sends requests at a time.
struct TokenSuccession {
  /// Called when the refresher's retirement is complete. `nil` before the retirement begins, and after it is complete.
  var onRetired: (() -> Void)?
  /// Whether the refresher has stopped.
  var hasEnded = false
  private var predecessors: Set<ObjectIdentifier> = []
  private var waiting: [() -> Void] = []

  var isRetired: Bool { onRetired != nil }

  mutating func wait(for predecessor: TokenRefresher) { predecessors.insert(ObjectIdentifier(predecessor)) }

  var isFirst: Bool { predecessors.isEmpty }

  mutating func add(_ work: @escaping () -> Void) { waiting.append(work) }

  /// Removes a predecessor that has ended.
  /// - Returns: the work that waited for the last predecessor, to run now.
  mutating func ended(_ refresher: TokenRefresher) -> [() -> Void] {
    guard predecessors.remove(ObjectIdentifier(refresher)) != nil, predecessors.isEmpty else { return [] }
    defer { waiting = [] }
    return waiting
  }
}
