/// Runs independent items of work that can each block for any time, such as file system calls (T55).
package enum BoundedWork {
  /// Milliseconds without a finished item after which the number of threads is doubled.
  private static let pause = 10
  /// Maximum number of threads per call of `run`.
  private static let mostThreads = 64

  private final class Items<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    struct State: Sendable {
      var waiting: ArraySlice<Key>
      var finished: [Key: Value] = [:]
      let total: Int
    }

    let state: Guarded<State>
    let isDone = ThreadSignal()

    init(_ keys: [Key]) { state = Guarded(State(waiting: keys[...], total: keys.count)) }

    func next() -> Key? { state.withLock { $0.waiting.popFirst() } }

    func finish(_ key: Key, _ value: Value) {
      let isLast = state.withLock { state in
        state.finished[key] = value
        return state.finished.count == state.total
      }
      if isLast { isDone.signal() }
    }

    /// Prevents further items from starting, and returns the results so far.
    func stop() -> [Key: Value] {
      state.withLock { state in
        state.waiting = []
        return state.finished
      }
    }
  }

  /// Calls `work` for each of the unique keys. Returns the results that are available within the time limit.
  package static func run<Key: Hashable & Sendable, Value: Sendable>(
    _ keys: [Key], milliseconds: Int, _ work: @escaping @Sendable (Key) -> Value
  ) -> [Key: Value] {
    guard !keys.isEmpty else { return [:] }
    let items = Items<Key, Value>(keys)
    let start = Clock.monotonicMicroseconds
    var (threads, wanted, finished) = (0, 1, 0)
    while true {
      while threads < min(wanted, Self.mostThreads) {
        let thread = BackgroundThread { while let key = items.next() { items.finish(key, work(key)) } }
        guard thread.isStarted else { break }
        thread.detach()
        threads += 1
      }
      let remaining = milliseconds - Int((Clock.monotonicMicroseconds - start) / 1_000)
      if remaining <= 0 || items.isDone.wait(milliseconds: min(remaining, Self.pause)) { return items.stop() }
      let (before, waiting) = (finished, items.state.withLock { $0.waiting.count })
      finished = items.state.withLock { $0.finished.count }
      if finished == before { wanted = min(max(threads, 1) * 2, threads + waiting) }
    }
  }
}
