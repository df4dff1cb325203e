internal import Credentials
package import EventLoop
internal import Synchronization
internal import Transport

/// Frees the large objects of an old generation without blocking the loop.
package final class DeferredRelease {
  private let loop: Loop
  private let blocking: BlockingTasks
  private var batch: Batch?
  private var keyrings: [RetiredKeyring] = []
  private var isClosed = false

  private final class Batch: Sendable {
    let things = Mutex<[any Sendable]>([])
  }

  package init(loop: Loop) {
    self.loop = loop
    blocking = BlockingTasks(loop: loop)
  }

  /// Schedules the release of a generation's objects and credentials.
  func add(_ things: [any Sendable], _ keyring: RetiredKeyring) {
    guard !isClosed else { return }
    if keyrings.isEmpty { loop.runIncrementally { [weak self] in self?.dismantle(while: $0) ?? true } }
    keyrings.append(keyring)
    if let batch { return batch.things.withLock { $0 += things } }
    let batch = Batch()
    batch.things.withLock { $0 = things }
    self.batch = batch
    loop.onNextTurn { [weak self] in self?.freeBatch() }
  }

  private func freeBatch() {
    guard let batch, !isClosed else { return }
    self.batch = nil
    blocking.run {
      batch.things.withLock { $0 = [] }
    } onEnd: { _ in
    }
  }

  private func dismantle(while hasTime: () -> Bool) -> Bool {
    while var last = keyrings.popLast() {
      let isGone = last.release(while: hasTime)
      if !isGone { keyrings.append(last) }
      if !hasTime() { break }
    }
    return keyrings.isEmpty
  }

  /// Frees everything immediately, because the loop ends.
  package func close() {
    isClosed = true
    keyrings = []
    batch = nil
    blocking.close()
  }
}
