/// Work in pieces of which each may take any time, such as asking a file system that may have gone (T55). One thread does
/// them all, one after the other; whenever nothing has ended for a while, there are more threads.
package enum BoundedWork {
  /// Milliseconds without an end of any piece, after which the number of threads is doubled.
  private static let pause = 10
  /// The most threads of one call: as long as fewer pieces hang, the others are done.
  private static let mostThreads = 64

  private final class Pieces<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    struct State: Sendable {
      var waiting: ArraySlice<Key>
      var ended: [Key: Value] = [:]
      var wanted: Int
    }

    let state: Guarded<State>
    let isDone = ThreadSignal()

    init(_ keys: [Key]) { state = Guarded(State(waiting: keys[...], wanted: keys.count)) }

    func next() -> Key? { state.withLock { $0.waiting.popFirst() } }

    func end(_ key: Key, _ value: Value) {
      let isLast = state.withLock { state in
        state.ended[key] = value
        return state.ended.count == state.wanted
      }
      if isLast { isDone.give() }
    }

    /// No thread begins another piece.
    func stop() -> [Key: Value] {
      state.withLock { state in
        state.waiting = []
        return state.ended
      }
    }
  }

  /// The pieces of `work` that have ended within the time, by their keys. A thread that hangs is left behind, and what it finds
  /// goes with it.
  /// - Parameter keys: each once.
  package static func run<Key: Hashable & Sendable, Value: Sendable>(
    _ keys: [Key], milliseconds: Int, _ work: @escaping @Sendable (Key) -> Value
  ) -> [Key: Value] {
    guard !keys.isEmpty else { return [:] }
    let pieces = Pieces<Key, Value>(keys)
    let begin = Clock.monotonicMicroseconds
    var (threads, wanted, ended) = (0, 1, 0)
    while true {
      while threads < min(wanted, Self.mostThreads) {
        let thread = BackgroundThread { while let key = pieces.next() { pieces.end(key, work(key)) } }
        guard thread.isStarted else { break }
        thread.leave()
        threads += 1
      }
      let left = milliseconds - Int((Clock.monotonicMicroseconds - begin) / 1_000)
      if left <= 0 || pieces.isDone.wait(milliseconds: min(left, Self.pause)) { return pieces.stop() }
      let (before, waiting) = (ended, pieces.state.withLock { $0.waiting.count })
      ended = pieces.state.withLock { $0.ended.count }
      if ended == before { wanted = min(max(threads, 1) * 2, threads + waiting) }
    }
  }
}
