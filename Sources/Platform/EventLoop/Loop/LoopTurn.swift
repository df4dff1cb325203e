internal import CLibuv
internal import Glibc

/// Measures one turn of a loop: from its first event until the loop waits again.
struct LoopTurn {
  let pulse = LoopPulse()
  private var clock: TickClock
  private var meter = StepMeter()
  private var order = ServingOrder()
  private var budget: UInt64
  private var isWaiting = true
  private var beganAt: UInt64 = 0
  private var phaseBeganAt: UInt64 = 0
  private var longestTurnTicks: UInt64 = 0
  private var processorTime: (at: UInt64, value: UInt64) = (0, 0)

  /// Time limit of each phase of a turn, in milliseconds.
  private static let budgetMilliseconds: UInt64 = 20
  /// A turn that takes at least this many milliseconds is a stall, which is logged.
  static let stall: UInt64 = 100

  init() {
    clock = TickClock()
    budget = LoopTurn.budgetMilliseconds &* clock.ticksPerMillisecond
  }

  /// Returns the turn that is stored after a loop's read buffer.
  static func memory(behind readBuffer: UnsafeMutableRawPointer) -> UnsafeMutablePointer<LoopTurn> {
    // The `data` of the `uv_loop_t` points to that buffer.
    (readBuffer + readBufferSize).assumingMemoryBound(to: LoopTurn.self)
  }

  @inline(__always)
  mutating func begin(_ next: LoopStep) {
    let now = bearerd_ticks()
    if isWaiting {
      isWaiting = false
      (beganAt, phaseBeganAt) = (now, now)
      meter.beginTurn()
    } else {
      meter.endStep(now, long: longStep)
    }
    meter.beginStep(next, now)
    pulse.begin(next, number: meter.steps)
  }

  mutating func rename(_ step: LoopStep) { meter.step = step }

  mutating func beginPhase() { phaseBeganAt = bearerd_ticks() }

  /// The time at which incremental work has to pause, in ticks.
  var incrementalDeadline: UInt64 { bearerd_ticks() &+ clock.ticksPerMillisecond }

  var isSpent: Bool { isSpent(bearerd_ticks()) }

  /// Whether the current step has used its time: half a millisecond, or a tenth of a millisecond after two long steps.
  var isStepLong: Bool {
    TickClock.elapsed(from: meter.stepBeganAt, to: bearerd_ticks())
      > (hasLongSteps ? clock.ticksPerMillisecond / 10 : longStep)
  }

  private var longStep: UInt64 { clock.ticksPerMillisecond / 2 }
  private var hasLongSteps: Bool { meter.longSteps >= 2 }

  /// Whether deferred work has to continue in the next turn, because two steps of this turn have used their time: after half a
  /// millisecond, or half of the time that the turn took before.
  var endsDeferredWork: Bool {
    guard hasLongSteps else { return false }
    let before = TickClock.elapsed(from: beganAt, to: phaseBeganAt)
    return TickClock.elapsed(from: phaseBeganAt, to: bearerd_ticks()) > max(clock.ticksPerMillisecond, before) / 2
  }

  /// Returns `true` if the turn has time left and the stream was not read yet in the current round.
  /// - Parameter served: the round in which the stream was last read. Updated if the result is `true`.
  @inline(__always)
  mutating func admits(_ served: inout UInt64) -> Bool { order.admits(&served, isSpent: isSpent(meter.stepBeganAt)) }

  /// Ends the turn, before the loop waits, and returns a report if it took at least `stall` milliseconds; otherwise
  /// `nil`.
  mutating func end(at milliseconds: UInt64) -> LoopStall? {
    order.endTurn()
    guard !isWaiting else { return nil }
    isWaiting = true
    let now = bearerd_ticks()
    meter.endStep(now, long: longStep)
    pulse.markWaiting()
    let ticks = TickClock.elapsed(from: beganAt, to: now)
    if ticks > longestTurnTicks { longestTurnTicks = ticks }
    let took = ticks / clock.ticksPerMillisecond
    let before = processorTime.value
    if took >= LoopTurn.stall || milliseconds &- processorTime.at >= 50 {
      processorTime = (milliseconds, LoopTurn.threadTime)
      if clock.calibrate(now) { budget = LoopTurn.budgetMilliseconds &* clock.ticksPerMillisecond }
    }
    guard took >= LoopTurn.stall else { return nil }
    return LoopStall(
      milliseconds: took, processorMilliseconds: min(took, (processorTime.value &- before) / 1_000_000),
      steps: meter.stepsInTurn, longest: meter.longestStep,
      longestMilliseconds: meter.longestTicks / clock.ticksPerMillisecond)
  }

  var longestMicroseconds: UInt64 { UInt64(Double(longestTurnTicks) * 1_000 / Double(clock.ticksPerMillisecond)) }

  @inline(__always)
  private func isSpent(_ now: UInt64) -> Bool { TickClock.elapsed(from: phaseBeganAt, to: now) > budget }

  private static var threadTime: UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
  }
}

private struct StepMeter {
  var step = LoopStep.none
  private(set) var stepBeganAt: UInt64 = 0
  private(set) var longestStep = LoopStep.none
  private(set) var longestTicks: UInt64 = 0
  private(set) var steps: UInt64 = 0
  private var stepsBefore: UInt64 = 0
  /// How many steps of this turn were long.
  private(set) var longSteps = 0

  var stepsInTurn: UInt64 { steps &- stepsBefore }

  @inline(__always)
  mutating func beginTurn() { (stepsBefore, longestTicks, longSteps) = (steps, 0, 0) }

  @inline(__always)
  mutating func beginStep(_ next: LoopStep, _ now: UInt64) {
    step = next
    stepBeganAt = now
    steps &+= 1
  }

  @inline(__always)
  mutating func endStep(_ now: UInt64, long: UInt64) {
    let ticks = TickClock.elapsed(from: stepBeganAt, to: now)
    if ticks > long { longSteps &+= 1 }
    if ticks > longestTicks { (longestTicks, longestStep) = (ticks, step) }
  }
}

/// Keeps the order fair when a turn has no time for every stream: each stream is served once per round.
private struct ServingOrder {
  private var round: UInt64 = 1
  private var isRoundOpen = false
  private var hasSkippedStreams = false

  @inline(__always)
  mutating func admits(_ served: inout UInt64, isSpent: Bool) -> Bool {
    if isSpent {
      hasSkippedStreams = true
      return false
    }
    if isRoundOpen, served == round { return false }
    served = round
    return true
  }

  mutating func endTurn() {
    if hasSkippedStreams {
      (isRoundOpen, hasSkippedStreams) = (true, false)
    } else {
      isRoundOpen = false
      round &+= 1
    }
  }
}
