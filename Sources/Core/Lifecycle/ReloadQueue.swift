/// Runs one reload at a time and collects the callers that wait for its result. A caller that asks during a reload gets
/// the result of the next one.
package struct ReloadQueue<Waiter> {
  private enum State { case idle, underWay, givenUp }

  private var state = State.idle
  private var current: [Waiter] = []
  private var next: [Waiter] = []

  package enum Turn: Sendable, Equatable { case begin, wait, refused }

  package init() {}

  /// Registers a caller that wants a reload. Returns `begin` if it must be started now, `wait` if the caller gets the
  /// result of the next reload, and `refused` if a reload that was given up has not returned yet.
  package mutating func ask(_ asker: Waiter) -> Turn {
    switch state {
    case .idle:
      state = .underWay
      current = [asker]
      return .begin
    case .underWay:
      next.append(asker)
      return .wait
    case .givenUp: return .refused
    }
  }

  /// Gives up the current reload. Returns all waiting callers, which get an error.
  package mutating func giveUp() -> [Waiter] {
    guard state == .underWay else { return [] }
    state = .givenUp
    defer { (current, next) = ([], []) }
    return current + next
  }

  /// Ends the current reload. Returns the callers that get its result, and whether the next reload begins now; `nil` if
  /// the reload was given up before.
  package mutating func end() -> (waiters: [Waiter], begins: Bool)? {
    guard state == .underWay else {
      state = .idle
      return nil
    }
    defer { (current, next) = (next, []) }
    state = next.isEmpty ? .idle : .underWay
    return (current, !next.isEmpty)
  }

  package var isGivenUp: Bool { state == .givenUp }
}
