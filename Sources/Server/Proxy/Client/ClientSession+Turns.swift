internal import EventLoop

/// The share of one client, so that others have theirs: turns of the loop, and requests under way (T54).
extension ClientSession {
  /// One more request of this client begins.
  func beginShare() {
    let begun = flow.turnShare.begin(in: worker.turn)
    guard begun >= TurnShare.most || begun > 1 && worker.loop.isOutOfTime, !flow.turnShare.isUsedUp else { return }
    flow.turnShare.isUsedUp = true
    worker.loop.onNextTurn { [weak self] in self?.turnShareRenewed() }
  }

  private func turnShareRenewed() {
    flow.turnShare.isUsedUp = false
    if !isClosed { settle() }
  }

  /// A session at an upstream, or the way to one, is what a request costs (T54).
  func acquireRequest() -> Bool {
    if attempt.hasQuota { return true }
    guard let permit = worker.admitRequest(of: client.quota) else { return false }
    attempt.take(permit)
    return true
  }
}
