internal import EventLoop
internal import Gateway
internal import Log
internal import StatusModel
internal import System

extension DaemonStatus.Loop {
  init(of worker: Worker) {
    self.init()
    (turns, stalls, longestTurnMicroseconds) = (worker.turn, worker.stalls.count, worker.loop.longestTurn)
    let began = worker.connections.runs.filter(\.isAwaitingResponse).map { $0.timing.startedAt }.min()
    oldestWaitingRequestMilliseconds = began.map { worker.loop.now - min($0, worker.loop.now) }
  }
}

extension RequestRun {
  fileprivate var isAwaitingResponse: Bool {
    switch phase {
    case .awaitingUpstream, .awaitingRetry: true
    case .exchanging: !hasResponseHead
    case .awaitingHead, .upgraded, .ended: false
    }
  }
}

struct Stalls {
  private(set) var count: UInt64 = 0
  private var omitted: UInt64 = 0
  private var loggedAt: UInt64?

  /// Minimum milliseconds between two log lines about slow turns.
  private static let logInterval: UInt64 = 10_000

  /// Counts a slow turn. Returns the number of slow turns since the last log line, or `nil` if nothing should be
  /// logged.
  mutating func add(at now: UInt64) -> UInt64? {
    count &+= 1
    if let loggedAt, now < loggedAt + Stalls.logInterval {
      omitted &+= 1
      return nil
    }
    loggedAt = now
    defer { omitted = 0 }
    return omitted
  }
}

extension Worker {
  /// Counts and logs a turn of the loop that took too long (T60).
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
