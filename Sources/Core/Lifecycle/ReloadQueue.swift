/// Who asked for a reload, and whom each one answers. One at a time: who asks while one is under way is answered by the next
/// one, which reads what the files say by then. One that takes too long is given up; as long as it hangs there is no other.
package struct ReloadQueue<Asker> {
  private enum State { case idle, underWay, givenUp }

  private var state = State.idle
  private var asking: [Asker] = []
  private var next: [Asker] = []

  package enum Turn: Sendable, Equatable { case begin, wait, refused }

  package init() {}

  /// `begin`: the caller begins a reload now. `refused`: the one that was given up still hangs.
  package mutating func ask(_ asker: Asker) -> Turn {
    switch state {
    case .idle:
      state = .underWay
      asking = [asker]
      return .begin
    case .underWay:
      next.append(asker)
      return .wait
    case .givenUp: return .refused
    }
  }

  /// The one under way takes too long. Everybody is to be told.
  package mutating func giveUp() -> [Asker] {
    guard state == .underWay else { return [] }
    state = .givenUp
    defer { (asking, next) = ([], []) }
    return asking + next
  }

  /// The one under way has ended. Who is to be told, and whether the next one begins now; nil: it was given up, and what it
  /// brought is too late.
  package mutating func end() -> (answered: [Asker], begins: Bool)? {
    guard state == .underWay else {
      state = .idle
      return nil
    }
    defer { (asking, next) = (next, []) }
    state = next.isEmpty ? .idle : .underWay
    return (asking, !next.isEmpty)
  }

  package var isGivenUp: Bool { state == .givenUp }
}
