internal import EventLoop

/// Limits one client's share of the loop's turns (T54).
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
}
