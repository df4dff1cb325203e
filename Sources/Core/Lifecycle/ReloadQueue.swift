/// Runs one reload at a time and collects the callers that wait for its result.
///
/// A caller that asks during a reload gets the result of the next reload, which reads the files again. A reload that takes too
/// long is given up. Until it returns, no other reload begins.
package struct ReloadQueue<Asker> {
  private enum State { case idle, underWay, givenUp }

  private var state = State.idle
  private var current: [Asker] = []
  private var next: [Asker] = []

  package enum Turn: Sendable, Equatable { case begin, wait, refused }

  package init() {}

  /// Adds a caller. `begin`: the caller starts a reload now. `refused`: a reload that was given up has not returned yet.
  package mutating func ask(_ asker: Asker) -> Turn {
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

  /// Gives up the current reload, which takes too long. Returns all callers, so that each can be told.
  package mutating func giveUp() -> [Asker] {
    guard state == .underWay else { return [] }
    state = .givenUp
    defer { (current, next) = ([], []) }
    return current + next
  }

  /// Ends the current reload. Returns the callers to tell, and whether the next reload begins now. `nil` if the reload was
  /// given up before: its result is too late.
  package mutating func end() -> (answered: [Asker], begins: Bool)? {
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
