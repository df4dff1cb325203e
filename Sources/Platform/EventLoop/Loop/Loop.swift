internal import CLibuv
internal import Glibc

/// A libuv event loop, confined to the thread that runs it.
///
/// Close every handle before you release the last reference to its loop.
/// `public`, because the compiler inlines `now` in other modules only if it is.
public final class Loop {
  let raw: UnsafeMutablePointer<uv_loop_t>
  /// The time in `raw`.
  @usableFromInline let clock: UnsafePointer<UInt64>

  private let readBuffer: UnsafeMutableRawPointer
  private let turnEnd = HandleMemory<uv_prepare_t>()
  private let turnStart = HandleMemory<uv_idle_t>()
  private var deferred: [() -> Void] = []
  let incrementalJobs = IncrementalJobs()
  /// Output that is collected for one write; allocated at the first use.
  private var gatherBuffer: UnsafeMutableRawBufferPointer?
  private var gatheredCount = 0
  /// The measurement of the current turn, stored after the read buffer.
  private let turnMemory: UnsafeMutablePointer<LoopTurn>
  var turn: LoopTurn {
    @inline(__always) _read { yield turnMemory.pointee }
    @inline(__always) _modify { yield &turnMemory.pointee }
  }
  /// Called after each turn that took 100 milliseconds or more (`LoopTurn.stall`).
  package var onStall: ((LoopStall) -> Void)?

  package init() throws(UVError) {
    // libuv writes with writev(2), which takes no MSG_NOSIGNAL.
    signal(SIGPIPE, SIG_IGN)
    raw = .allocate(capacity: 1)
    clock = UnsafePointer(raw.pointer(to: \.time)!)
    readBuffer = .allocate(byteCount: readBufferSize + MemoryLayout<LoopTurn>.stride, alignment: 4096)
    turnMemory = LoopTurn.memory(behind: readBuffer)
    turnMemory.initialize(to: LoopTurn())
    let status = uv_loop_init(raw)
    guard status == 0 else {
      raw.deallocate()
      turnMemory.deinitialize(count: 1)
      readBuffer.deallocate()
      turnEnd.discard()
      turnStart.discard()
      throw UVError(operation: "uv_loop_init", status: status)
    }
    raw.pointee.data = readBuffer
    uv_prepare_init(raw, turnEnd.raw)
    uv_idle_init(raw, turnStart.raw)
    uv_unref(turnEnd.base)
    turnEnd.setUnretainedOwner(self)
    turnStart.setUnretainedOwner(self)
    uv_prepare_start(turnEnd.raw) { withOwner($0?.pointee.data, as: Loop.self) { $0.endTurn() } }
  }

  deinit {
    turnEnd.closeUnretained()
    turnStart.closeUnretained()
    // Runs pending close callbacks. Without NOWAIT, a handle that was not closed would block forever.
    uv_run(raw, UV_RUN_NOWAIT)
    precondition(uv_loop_close(raw) == 0, "a handle was still open when its loop went away")
    raw.deallocate()
    turnMemory.deinitialize(count: 1)
    readBuffer.deallocate()
    gatherBuffer?.deallocate()
  }

  /// Appends bytes to the collected output, or returns `false` if there is not enough room.
  func gather(_ bytes: UnsafeRawBufferPointer) -> Bool {
    let memory = gatherBuffer ?? .allocate(byteCount: gatherBufferSize, alignment: 4096)
    gatherBuffer = memory
    guard bytes.count <= memory.count - gatheredCount else { return false }
    UnsafeMutableRawBufferPointer(rebasing: memory[gatheredCount...]).copyMemory(from: bytes)
    gatheredCount += bytes.count
    return true
  }

  var gathered: UnsafeRawBufferPointer {
    let buffer = UnsafeRawBufferPointer(gatherBuffer ?? .init(start: nil, count: 0))
    return UnsafeRawBufferPointer(rebasing: buffer[..<gatheredCount])
  }

  func discardGathered() { gatheredCount = 0 }

  /// Runs until `stop()` is called, or until no handle or request is active.
  package func run() { uv_run(raw, UV_RUN_DEFAULT) }

  /// Runs one turn, for tests. Returns `true` if a handle or request is still active.
  /// - Parameter waiting: whether to block until an event arrives.
  @discardableResult
  package func runOnce(waiting: Bool) -> Bool {
    uv_run(raw, waiting ? UV_RUN_ONCE : UV_RUN_NOWAIT) != 0
  }

  /// Makes `run()` return at the end of this turn. If the loop is not running, the next `run()` returns immediately.
  package func stop() { uv_stop(raw) }

  /// Milliseconds of the loop's monotonic clock, updated once per turn.
  @inlinable public var now: UInt64 { clock.pointee }

  /// Advances the clock until the next turn sets it again. For tests that do not run the loop.
  func advance(by milliseconds: UInt64) { raw.pointee.time &+= milliseconds }

  /// Called once per turn, before the loop waits for events, to write the output of the turn.
  package var onTurnEnd: (() -> Void)?

  private func endTurn() {
    if let onTurnEnd {
      turn.begin(.sending)
      onTurnEnd()
    }
    if let stall = turn.end(at: now) { onStall?(stall) }
  }

  /// `true` if the current phase has used its time. A handler then leaves its remaining work to a later turn.
  package var isOutOfTime: Bool { turn.isSpent }

  /// `true` if the current step of the turn, such as the work for one connection, has taken half a millisecond. A handler whose work a
  /// peer determines then leaves the rest to a later turn, so that other connections do not wait (T54). After two steps of a turn that
  /// took so long, the others have a tenth of a millisecond.
  package var isStepLong: Bool { turn.isStepLong }

  /// Begins a new phase of the turn, which has its own time limit.
  package func beginPhase() { turn.beginPhase() }

  /// Replaces the kind of the current step with a more precise one, for the log.
  package func renameStep(_ step: LoopStep) { turn.rename(step) }

  package var longestTurn: UInt64 { turn.longestMicroseconds }

  package var pulse: LoopPulse { turn.pulse }

  /// Calls `action` once, on a later turn and never within this call.
  package func onNextTurn(_ action: @escaping () -> Void) {
    if deferred.isEmpty {
      uv_idle_start(turnStart.raw) { withOwner($0?.pointee.data, as: Loop.self) { $0.runDeferred() } }
    }
    deferred.append(action)
  }

  private func runDeferred() {
    uv_idle_stop(turnStart.raw)
    var actions = deferred
    deferred = []  // before the calls: actions that they defer belong to the next turn
    for index in actions.indices {
      // A step of its own, so that each action has its time.
      turn.begin(.deferred)
      if index == 0 { turn.beginPhase() }
      if index > 0, isOutOfTime || turn.endsDeferredWork {
        // First in the next turn, so that all have the same share.
        let new = deferred
        deferred = []
        for action in actions[index...] + new { onNextTurn(action) }
        return
      }
      // Also frees what the action has captured within its step.
      var action: () -> Void = {}
      swap(&action, &actions[index])
      action()
    }
  }
}

// Measured: 256 KiB needs a quarter of the system calls of 64 KiB for large bodies, and costs nothing for small ones.
/// Size of a loop's read buffer in bytes, which all its streams share.
let readBufferSize = 256 * 1024

// A full read buffer fits even after its encryption as TLS records.
/// Size of the buffer for collected output, in bytes.
private let gatherBufferSize = readBufferSize + 8192
