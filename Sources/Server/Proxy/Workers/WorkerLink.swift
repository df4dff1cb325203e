internal import EventLoop
internal import Providers
internal import Synchronization
internal import System

/// How other threads reach a worker that runs on a thread of its own.
package final class WorkerLink: Sendable {
  package typealias Message = @Sendable (Worker) -> Void

  /// From 1 on: the first worker, which has number 0, runs on the main thread and needs none.
  let number: Int
  /// Connections that it has, and those that are on their way to it.
  let connections = Atomic<Int>(0)
  /// The pulse of the worker's loop, once it listens.
  let pulse = Guarded<LoopPulse?>(nil)
  private let box = Box()
  private let sharedState: SharedState
  /// Wakes the main thread's loop.
  private let bell: Wakeup

  init(number: Int, sharedState: SharedState, bell: Wakeup) {
    self.number = number
    self.sharedState = sharedState
    self.bell = bell
  }

  /// Carried out on its thread, in the order of posting. What is posted before it listens waits; what is posted after its end
  /// is dropped.
  package func post(_ message: @escaping Message) { box.add(message) }

  /// One of its connections has ended.
  func connectionEnded() {
    connections.subtract(1, ordering: .sequentiallyConsistent)
    // The acceptor looks at the numbers after it has said that there are too many: one of the two sees the other.
    if sharedState.isFull.load(ordering: .sequentiallyConsistent) { bell.wake() }
  }

  // MARK: on its own thread

  /// Asks the others for room: this worker has no descriptor left, and they may have some that are not in use just now.
  func requestCapacity() {
    sharedState.wantsRoom.store(true, ordering: .sequentiallyConsistent)
    bell.wake()
  }

  /// Carried out on the main thread, with the first worker.
  func postToFirst(_ message: @escaping Message) {
    sharedState.errands.withLock { $0.append(message) }
    bell.wake()
  }

  func listen(_ worker: Worker) throws(UVError) {
    let wakeup = try Wakeup(loop: worker.loop) { [unowned self, unowned worker] in
      for message in box.take() { message(worker) }
    }
    pulse.withLock { $0 = worker.loop.pulse }
    box.open(wakeup)
  }

  func close() { box.close() }

  /// `@unchecked Sendable`, because everything in it is touched under the lock.
  private final class Box: @unchecked Sendable {
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

    func take() -> [Message] {
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
