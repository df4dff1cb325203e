internal import EventLoop

/// Whoever sends requests without end in one go leaves turns of the loop to others (T54).
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
    guard begunInTurn >= ClientSession.mostPerTurn, !isResting else { return }
    isResting = true
    worker.loop.onNextTurn { [weak self] in self?.haveRested() }
  }

  private func haveRested() {
    isResting = false
    guard !isClosed else { return }
    settle()
  }
}
