internal import Credentials
package import EventLoop
internal import Synchronization
internal import Transport

/// The place for what a worker needs no longer and what takes long to let go: what is no secret is freed beside the loop,
/// and credentials are wiped on it, piece by piece.
package final class DeferredRelease {
  private let loop: Loop
  private let blocking: BlockingTasks
  private var batch: Batch?
  private var keyrings: [KeyringRemains] = []
  private var isClosed = false

  /// Emptied on another thread: the loop has no part of what is in it by then.
  private final class Batch: Sendable {
    let things = Mutex<[any Sendable]>([])
  }

  package init(loop: Loop) {
    self.loop = loop
    blocking = BlockingTasks(loop: loop)
  }

  /// To be called when the last of those who use it is about to go: it is freed once the turn is over.
  func take(_ things: [any Sendable], _ keyring: KeyringRemains) {
    guard !isClosed else { return }
    if keyrings.isEmpty { loop.inPieces { [weak self] in self?.dismantle(while: $0) ?? true } }
    keyrings.append(keyring)
    if let batch { return batch.things.withLock { $0 += things } }
    let batch = Batch()
    batch.things.withLock { $0 = things }
    self.batch = batch
    loop.onNextTurn { [weak self] in self?.empty() }
  }

  private func empty() {
    guard let batch, !isClosed else { return }
    self.batch = nil
    blocking.run {
      batch.things.withLock { $0 = [] }
    } onEnd: { _ in
    }
  }

  private func dismantle(while hasTime: () -> Bool) -> Bool {
    while var last = keyrings.popLast() {
      let isGone = last.dismantle(while: hasTime)
      if !isGone { keyrings.append(last) }
      if !hasTime() { break }
    }
    return keyrings.isEmpty
  }

  /// The loop ends: at once.
  package func close() {
    isClosed = true
    keyrings = []
    batch = nil
    blocking.close()
  }
}
