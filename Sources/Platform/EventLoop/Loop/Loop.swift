internal import CLibuv
internal import Glibc

/// One libuv loop, confined to the thread that runs it. It and everything on it is deliberately not `Sendable`.
///
/// Whatever was opened on a loop must be closed before the loop's last reference goes.
package final class Loop {
  let raw: UnsafeMutablePointer<uv_loop_t>

  private let readBuffer: UnsafeMutableRawPointer
  private let turnEnd = HandleMemory<uv_prepare_t>()
  private let turnStart = HandleMemory<uv_idle_t>()
  private var deferred: [() -> Void] = []
  let pieces = Pieces()
  /// Pieces that go out together. Made when so much is sent at once for the first time, and then kept.
  private var gathering: UnsafeMutableRawBufferPointer?
  private var gatheredCount = 0
  /// Behind the read buffer, where callbacks find it by their handle: each access to a property of the loop would be checked for
  /// two at a time, several times for each request.
  private let turnMemory: UnsafeMutablePointer<LoopTurn>
  var turn: LoopTurn {
    @inline(__always) _read { yield turnMemory.pointee }
    @inline(__always) _modify { yield &turnMemory.pointee }
  }
  /// Called when a turn has taken long.
  package var onStall: ((LoopStall) -> Void)?

  package init() throws(UVError) {
    // libuv writes with writev(2), which takes no MSG_NOSIGNAL.
    signal(SIGPIPE, SIG_IGN)
    raw = .allocate(capacity: 1)
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
    turnEnd.lend(self)
    turnStart.lend(self)
    uv_prepare_start(turnEnd.raw) { withOwner($0?.pointee.data, as: Loop.self) { $0.endTurn() } }
  }

  deinit {
    turnEnd.closeLent()
    turnStart.closeLent()
    // Close callbacks that are still due. Forgotten handles would wait here for ever, so: no waiting.
    uv_run(raw, UV_RUN_NOWAIT)
    precondition(uv_loop_close(raw) == 0, "a handle was still open when its loop went away")
    raw.deallocate()
    turnMemory.deinitialize(count: 1)
    readBuffer.deallocate()
    gathering?.deallocate()
  }

  /// False: there is no room for so many more.
  func gather(_ bytes: UnsafeRawBufferPointer) -> Bool {
    let memory = gathering ?? .allocate(byteCount: gatheringSize, alignment: 4096)
    gathering = memory
    guard bytes.count <= memory.count - gatheredCount else { return false }
    UnsafeMutableRawBufferPointer(rebasing: memory[gatheredCount...]).copyMemory(from: bytes)
    gatheredCount += bytes.count
    return true
  }

  var gathered: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(gathering ?? .init(start: nil, count: 0))[..<gatheredCount])
  }

  func discardGathered() { gatheredCount = 0 }

  /// Runs until `stop()` or until nothing is left to wait for.
  package func run() {
    uv_run(raw, UV_RUN_DEFAULT)
  }

  /// One turn, for tests. `waiting`: until there is something to do. True while something is left to wait for.
  @discardableResult
  package func runOnce(waiting: Bool) -> Bool {
    uv_run(raw, waiting ? UV_RUN_ONCE : UV_RUN_NOWAIT) != 0
  }

  /// Makes `run()` return at the end of this turn; if it does not run, the next one returns at once.
  package func stop() {
    uv_stop(raw)
  }

  /// Milliseconds of the loop's monotonic clock, updated once per turn.
  package var now: UInt64 { uv_now(raw) }

  /// Called once per turn, before the loop waits for events: the place to write what the turn gathered.
  package var onTurnEnd: (() -> Void)?

  private func endTurn() {
    if let onTurnEnd {
      turn.begin(.sending)
      onTurnEnd()
    }
    if let stall = turn.end(at: now) { onStall?(stall) }
  }

  /// This turn has taken its time: a handler with more to do than one thing leaves the rest to a later turn.
  package var isOutOfTime: Bool { turn.isSpent }

  /// Begins another kind of work, which has time of its own.
  package func beginPhase() { turn.beginPhase() }

  /// Names the step that is being done now, if that says more than where it came from.
  package func note(_ step: LoopStep) { turn.rename(step) }

  /// The longest turn so far.
  package var longestTurn: UInt64 { turn.longestMicroseconds }

  package var pulse: LoopPulse { turn.pulse }

  /// Calls `action` once, soon, and never from within this call: what must not be heard re-entrantly goes through here.
  package func onNextTurn(_ action: @escaping () -> Void) {
    if deferred.isEmpty {
      uv_idle_start(turnStart.raw) { withOwner($0?.pointee.data, as: Loop.self) { $0.runDeferred() } }
    }
    deferred.append(action)
  }

  private func runDeferred() {
    uv_idle_stop(turnStart.raw)
    let actions = deferred
    deferred = []  // before the calls: what they defer belongs to the next turn
    turn.begin(.deferred)
    turn.beginPhase()
    for (index, action) in actions.enumerated() {
      if index > 0, isOutOfTime {
        let new = deferred
        deferred = []
        for action in actions[index...] + new { onNextTurn(action) }
        return
      }
      action()
    }
  }
}

/// One buffer serves all reads of a loop, because asking for memory, reading and reporting run back to back. The size
/// is measured: 256 KiB needs a quarter of the system calls of 64 KiB for large bodies and costs small ones nothing.
let readBufferSize = 256 * 1024

/// As much as was read, in TLS records of 16 KiB with what each of them costs.
private let gatheringSize = readBufferSize + 8192
