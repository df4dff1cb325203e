internal import EventLoop

/// What one client may have, so that others have theirs: turns of the loop, and requests under way (T54).
extension ClientSession {
  /// A few milliseconds of work, if all of them are answered here.
  private static let mostPerTurn = 64

  /// One more request of this client begins.
  func takeTurn() {
    if turn != worker.turn {
      turn = worker.turn
      begunInTurn = 0
    }
    begunInTurn += 1
    guard begunInTurn >= ClientSession.mostPerTurn || begunInTurn > 1 && worker.loop.isOutOfTime, !isResting else {
      return
    }
    isResting = true
    worker.loop.onNextTurn { [weak self] in self?.haveRested() }
  }

  private func haveRested() {
    isResting = false
    guard !isClosed else { return }
    settle()
  }

  /// A session at an upstream, or the way to one, is what a request costs (T54).
  func takeRequest() -> Bool {
    if holdsRequest { return true }
    guard worker.admitsRequest(of: quota) else { return false }
    holdsRequest = true
    return true
  }

  func giveRequestBack() {
    if holdsRequest { quota.giveRequestBack() }
    holdsRequest = false
  }
}
