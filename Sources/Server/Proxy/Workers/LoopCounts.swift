internal import EventLoop
internal import Gateway
internal import Log
internal import System

/// How one worker's loop fares: for those who ask how it goes.
package struct LoopCounts: Sendable {
  package let turns: UInt64
  /// Turns that took 100 ms or more.
  package let stalls: UInt64
  /// Microseconds.
  package let longestTurn: UInt64
  /// Milliseconds since the head of the oldest request that waits for its answer to begin; nil: none does.
  package let oldestRequest: UInt64?

  init(of worker: Worker) {
    (turns, stalls, longestTurn) = (worker.turn, worker.stalls.count, worker.loop.longestTurn)
    let began = worker.sessions.values.lazy.filter(\.isWaitingForAnswer).map { $0.timing.startedAt }.min()
    oldestRequest = began.map { worker.loop.now - min($0, worker.loop.now) }
  }
}

extension ClientSession {
  fileprivate var isWaitingForAnswer: Bool {
    switch summary.phase {
    case .awaitingUpstream: true
    case .exchanging: !summary.hasResponseHead
    case .awaitingHead, .upgraded, .lingering, .closed: false
    }
  }
}

/// Counts stalls, and rations their lines.
struct Stalls {
  private(set) var count: UInt64 = 0
  private var omitted: UInt64 = 0
  private var loggedAt: UInt64?

  /// Milliseconds between two lines.
  private static let silence: UInt64 = 10_000

  /// How many had no line since the last one; nil: nor has this one.
  mutating func add(at now: UInt64) -> UInt64? {
    count &+= 1
    if let loggedAt, now < loggedAt + Stalls.silence {
      omitted &+= 1
      return nil
    }
    loggedAt = now
    defer { omitted = 0 }
    return omitted
  }
}

extension Worker {
  /// A turn of the loop kept everybody waiting (T60).
  func stalled(_ stall: LoopStall) {
    guard let omitted = stalls.add(at: loop.now) else { return }
    log.event(
      .loopStalled, ("worker", String((link?.number ?? 0) + 1)),
      ("milliseconds", String(stall.milliseconds)), ("cpu-milliseconds", String(stall.processorMilliseconds)),
      ("steps", String(stall.steps)), ("longest-step", stall.longest.name),
      ("longest-step-milliseconds", String(stall.longestMilliseconds)),
      ("omitted", omitted == 0 ? nil : String(omitted)))
    log.flush()
  }
}
