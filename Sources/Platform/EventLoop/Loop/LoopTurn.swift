internal import CLibuv
internal import Glibc

/// The time of one turn of a loop: from the first event that it hears of until it waits again.
///
/// A step is measured by a counter of the processor's, since each request has several and a clock would cost more than the
/// rest of this. The clock says now and then how fast that counter runs.
struct LoopTurn {
  let pulse = LoopPulse()
  private var ticksPerMillisecond: UInt64
  private var calibratedAt: (ticks: UInt64, nanoseconds: UInt64)
  private var budget: UInt64
  private var isWaiting = true
  private var beganAt: UInt64 = 0
  private var phaseBeganAt: UInt64 = 0
  private var stepBeganAt: UInt64 = 0
  private var step = LoopStep.none
  private var longestStep = LoopStep.none
  private var longestTicks: UInt64 = 0
  private var steps: UInt64 = 0
  private var stepsBefore: UInt64 = 0
  /// The longest turn so far.
  private var most: UInt64 = 0
  private var processorTime: (at: UInt64, value: UInt64) = (0, 0)

  /// The order while there is not time for all: a stream that was served in this round waits for the next one.
  private var round: UInt64 = 1
  private var isRoundOpen = false
  private var hasPutOff = false

  /// Milliseconds after which a turn serves no other stream. Long enough for hundreds of requests, so that looking for events
  /// once more costs nothing beside them; too short to be noticed.
  private static let milliseconds: UInt64 = 20
  /// Milliseconds from which on a turn is a stall.
  static let stall: UInt64 = 100
  /// Nanoseconds between two looks at the speed of the counter.
  private static let recalibration: UInt64 = 10_000_000_000

  init() {
    calibratedAt = (bearerd_ticks(), uv_hrtime())
    // A thread that loses the processor between two looks counts too much: the least of some is right.
    ticksPerMillisecond = (0..<3).map { _ in LoopTurn.ticksPerMillisecond() }.min() ?? 1
    budget = LoopTurn.milliseconds &* ticksPerMillisecond
  }

  /// The memory of a loop's turn: the buffer is what libuv's loop points to.
  static func memory(behind readBuffer: UnsafeMutableRawPointer) -> UnsafeMutablePointer<LoopTurn> {
    (readBuffer + readBufferSize).assumingMemoryBound(to: LoopTurn.self)
  }

  private static func ticksPerMillisecond() -> UInt64 {
    let (ticks, began) = (bearerd_ticks(), uv_hrtime())
    var now = began
    while now < began + 50_000 { now = uv_hrtime() }
    return max(1, (bearerd_ticks() &- ticks) &* 1_000_000 / (now - began))
  }

  @inline(__always)
  mutating func begin(_ next: LoopStep) {
    let now = bearerd_ticks()
    if isWaiting {
      isWaiting = false
      (beganAt, phaseBeganAt) = (now, now)
      (stepsBefore, longestTicks) = (steps, 0)
    } else {
      endStep(now)
    }
    step = next
    stepBeganAt = now
    steps &+= 1
    pulse.begin(next, number: steps)
  }

  /// The step has another name than its caller knew.
  mutating func rename(_ step: LoopStep) { self.step = step }

  /// Something else gets time of its own.
  mutating func beginPhase() { phaseBeganAt = bearerd_ticks() }

  /// Until when work may go on that is done in pieces.
  var endOfPiece: UInt64 { bearerd_ticks() &+ ticksPerMillisecond }

  var isSpent: Bool { isSpent(bearerd_ticks()) }

  /// - Parameter served: the round in which it was served the last time.
  @inline(__always)
  mutating func admits(_ served: inout UInt64) -> Bool {
    if isSpent(stepBeganAt) {
      hasPutOff = true
      return false
    }
    if isRoundOpen, served == round { return false }
    served = round
    return true
  }

  /// The loop is about to wait.
  mutating func end(at milliseconds: UInt64) -> LoopStall? {
    if hasPutOff {
      (isRoundOpen, hasPutOff) = (true, false)
    } else {
      isRoundOpen = false
      round &+= 1
    }
    guard !isWaiting else { return nil }
    isWaiting = true
    let now = bearerd_ticks()
    endStep(now)
    pulse.wait()
    let ticks = elapsed(from: beganAt, to: now)
    if ticks > most { most = ticks }
    let took = ticks / ticksPerMillisecond
    let before = processorTime.value
    if took >= LoopTurn.stall || milliseconds &- processorTime.at >= 50 {
      processorTime = (milliseconds, LoopTurn.threadTime)
      calibrate(now)
    }
    guard took >= LoopTurn.stall else { return nil }
    return LoopStall(
      milliseconds: took, processorMilliseconds: min(took, (processorTime.value &- before) / 1_000_000),
      steps: steps &- stepsBefore, longest: longestStep, longestMilliseconds: longestTicks / ticksPerMillisecond)
  }

  var longestMicroseconds: UInt64 { UInt64(Double(most) * 1_000 / Double(ticksPerMillisecond)) }

  @inline(__always)
  private mutating func endStep(_ now: UInt64) {
    let ticks = now &- stepBeganAt
    if ticks > longestTicks, ticks < UInt64.max / 2 { (longestTicks, longestStep) = (ticks, step) }
  }

  @inline(__always)
  private func isSpent(_ now: UInt64) -> Bool { elapsed(from: phaseBeganAt, to: now) > budget }

  /// A machine that was moved may have its counter set back.
  @inline(__always)
  private func elapsed(from start: UInt64, to end: UInt64) -> UInt64 { end > start ? end &- start : 0 }

  private mutating func calibrate(_ now: UInt64) {
    let nanoseconds = uv_hrtime()
    let passed = nanoseconds &- calibratedAt.nanoseconds
    guard passed >= LoopTurn.recalibration else { return }
    let ticks = Double(elapsed(from: calibratedAt.ticks, to: now))
    calibratedAt = (now, nanoseconds)
    guard ticks > 0 else { return }
    ticksPerMillisecond = max(1, UInt64(ticks * 1_000_000 / Double(passed)))
    budget = LoopTurn.milliseconds &* ticksPerMillisecond
  }

  /// Nanoseconds.
  private static var threadTime: UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
  }
}
