internal import EventLoop
internal import Providers
internal import Synchronization
internal import System

package final class WorkerLink: Sendable {
  package typealias Message = @Sendable (Worker) -> Void

  /// The number of the worker, from 1.
  let number: Int
  /// Number of connections that the worker has or is about to receive.
  let connections = Atomic<Int>(0)
  /// The activity of the worker's loop. `nil` before `listen`.
  let pulse = Guarded<LoopPulse?>(nil)
  private let box = Box()
  private let sharedState: SharedState
  private let mainWakeup: Wakeup

  init(number: Int, sharedState: SharedState, mainWakeup: Wakeup) {
    self.number = number
    self.sharedState = sharedState
    self.mainWakeup = mainWakeup
  }

  /// Runs a message on the worker's thread. Messages wait for `listen`, and are dropped after `close`.
  package func post(_ message: @escaping Message) { box.add(message) }

  func connectionEnded() {
    connections.subtract(1, ordering: .sequentiallyConsistent)
    // The acceptor sets `isFull` first and then reads `connections`, so one of the two threads sees the other's change.
    if sharedState.isFull.load(ordering: .sequentiallyConsistent) { mainWakeup.wake() }
  }

  // MARK: called on the worker's thread

  /// Makes all workers close idle connections, to free file descriptors.
  func requestCapacity() {
    sharedState.needsDescriptors.store(true, ordering: .sequentiallyConsistent)
    mainWakeup.wake()
  }

  /// Runs a message on the main thread. The message receives the first worker.
  func postToFirst(_ message: @escaping Message) {
    sharedState.mainThreadMessages.withLock { $0.append(message) }
    mainWakeup.wake()
  }

  func listen(_ worker: Worker) throws(UVError) {
    let wakeup = try Wakeup(loop: worker.loop) { [unowned self, unowned worker] in
      for message in box.removeAll() { message(worker) }
    }
    pulse.withLock { $0 = worker.loop.pulse }
    box.open(wakeup)
  }

  func close() { box.close() }

  /// Messages for the worker.
  private final class Box: @unchecked Sendable {
    // All mutable state is used only under the lock.
    private let lock = SharedLock(isShared: true)
    private var messages: [Message] = []
    private var wakeup: Wakeup?
    private var isClosed = false

    func add(_ message: @escaping Message) {
      let wakeup = lock { () -> Wakeup? in
        if isClosed { return nil }
        messages.append(message)
        return self.wakeup
      }
      wakeup?.wake()
    }

    func removeAll() -> [Message] {
      lock {
        defer { messages = [] }
        return messages
      }
    }

    func open(_ wakeup: Wakeup) {
      lock { self.wakeup = wakeup }
      wakeup.wake()
    }

    func close() {
      let wakeup = lock { () -> Wakeup? in
        defer { (self.wakeup, messages) = (nil, []) }
        isClosed = true
        return self.wakeup
      }
      wakeup?.close()
    }
  }
}

extension WorkerLink: ProvidersLink {
  func postToFirstProviders(_ message: @escaping ProvidersMessage) { postToFirst { message($0.providers) } }
  func postToProviders(_ message: @escaping ProvidersMessage) { post { message($0.providers) } }
}
