internal import CLibuv
internal import Glibc

/// The time of one turn of a loop: from the first event that it hears of until it waits again.
struct LoopTurn {
  let pulse = LoopPulse()
  private var clock: TickClock
  private var meter = StepMeter()
  private var order = ServingOrder()
  private var budget: UInt64
  private var isWaiting = true
  private var beganAt: UInt64 = 0
  private var phaseBeganAt: UInt64 = 0
  /// Ticks of the longest turn so far.
  private var most: UInt64 = 0
  private var processorTime: (at: UInt64, value: UInt64) = (0, 0)

  /// Milliseconds after which a turn serves no other stream. Long enough for hundreds of requests, so that looking for events
  /// once more costs nothing beside them; too short to be noticed.
  private static let milliseconds: UInt64 = 20
  /// Milliseconds from which on a turn is a stall.
  static let stall: UInt64 = 100

  init() {
    clock = TickClock()
    budget = LoopTurn.milliseconds &* clock.ticksPerMillisecond
  }

  /// The memory of a loop's turn: the buffer is what libuv's loop points to.
  static func memory(behind readBuffer: UnsafeMutableRawPointer) -> UnsafeMutablePointer<LoopTurn> {
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
      meter.endStep(now)
    }
    meter.beginStep(next, now)
    pulse.begin(next, number: meter.steps)
  }

  /// The step has another name than its caller knew.
  mutating func rename(_ step: LoopStep) { meter.step = step }

  /// Something else gets time of its own.
  mutating func beginPhase() { phaseBeganAt = bearerd_ticks() }

  /// Until when work may go on that is done in pieces.
  var endOfPiece: UInt64 { bearerd_ticks() &+ clock.ticksPerMillisecond }

  var isSpent: Bool { isSpent(bearerd_ticks()) }

  /// Whether a stream may be read now.
  /// - Parameter served: the round in which it was served the last time.
  @inline(__always)
  mutating func admits(_ served: inout UInt64) -> Bool { order.admits(&served, isSpent: isSpent(meter.stepBeganAt)) }

  /// The loop is about to wait.
  mutating func end(at milliseconds: UInt64) -> LoopStall? {
    order.endTurn()
    guard !isWaiting else { return nil }
    isWaiting = true
    let now = bearerd_ticks()
    meter.endStep(now)
    pulse.wait()
    let ticks = TickClock.elapsed(from: beganAt, to: now)
    if ticks > most { most = ticks }
    let took = ticks / clock.ticksPerMillisecond
    let before = processorTime.value
    if took >= LoopTurn.stall || milliseconds &- processorTime.at >= 50 {
      processorTime = (milliseconds, LoopTurn.threadTime)
      if clock.calibrate(now) { budget = LoopTurn.milliseconds &* clock.ticksPerMillisecond }
    }
    guard took >= LoopTurn.stall else { return nil }
    return LoopStall(
      milliseconds: took, processorMilliseconds: min(took, (processorTime.value &- before) / 1_000_000),
      steps: meter.stepsInTurn, longest: meter.longestStep,
      longestMilliseconds: meter.longestTicks / clock.ticksPerMillisecond)
  }

  var longestMicroseconds: UInt64 { UInt64(Double(most) * 1_000 / Double(clock.ticksPerMillisecond)) }

  @inline(__always)
  private func isSpent(_ now: UInt64) -> Bool { TickClock.elapsed(from: phaseBeganAt, to: now) > budget }

  /// Nanoseconds.
  private static var threadTime: UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
  }
}

/// The steps of a turn: how many, and the one that took longest.
private struct StepMeter {
  var step = LoopStep.none
  private(set) var stepBeganAt: UInt64 = 0
  private(set) var longestStep = LoopStep.none
  private(set) var longestTicks: UInt64 = 0
  /// Steps since the loop was made.
  private(set) var steps: UInt64 = 0
  private var stepsBefore: UInt64 = 0

  var stepsInTurn: UInt64 { steps &- stepsBefore }

  @inline(__always)
  mutating func beginTurn() { (stepsBefore, longestTicks) = (steps, 0) }

  @inline(__always)
  mutating func beginStep(_ next: LoopStep, _ now: UInt64) {
    step = next
    stepBeganAt = now
    steps &+= 1
  }

  @inline(__always)
  mutating func endStep(_ now: UInt64) {
    let ticks = now &- stepBeganAt
    if ticks > longestTicks, ticks < UInt64.max / 2 { (longestTicks, longestStep) = (ticks, step) }
  }
}

/// The order while there is not time for all: a stream that was served in this round waits for the next one.
private struct ServingOrder {
  private var round: UInt64 = 1
  private var isRoundOpen = false
  private var hasPutOff = false

  @inline(__always)
  mutating func admits(_ served: inout UInt64, isSpent: Bool) -> Bool {
    if isSpent {
      hasPutOff = true
      return false
    }
    if isRoundOpen, served == round { return false }
    served = round
    return true
  }

  mutating func endTurn() {
    if hasPutOff {
      (isRoundOpen, hasPutOff) = (true, false)
    } else {
      isRoundOpen = false
      round &+= 1
    }
  }
}
