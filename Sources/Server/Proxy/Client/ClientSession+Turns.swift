internal import EventLoop

/// Limits one client's share of the loop's turns and of the requests in progress (T54).
extension ClientSession {
  func beginShare() {
    let begun = flow.turnShare.begin(in: worker.turn)
    guard begun >= TurnShare.maximum || begun > 1 && worker.loop.isOutOfTime, !flow.turnShare.isUsedUp else { return }
    flow.turnShare.isUsedUp = true
    worker.loop.onNextTurn { [weak self] in self?.turnShareRenewed() }
  }

  private func turnShareRenewed() {
    flow.turnShare.isUsedUp = false
    if !isClosed { settle() }
  }

  /// Acquires a permit for one request in progress (T54). Returns `false` at the caller's limit.
  func acquireRequest() -> Bool {
    if attempt.hasQuota { return true }
    guard let permit = worker.admitRequest(of: client.quota) else { return false }
    attempt.store(permit)
    return true
  }
}
