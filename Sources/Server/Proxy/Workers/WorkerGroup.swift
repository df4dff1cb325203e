package import Configuration
package import EventLoop
internal import Synchronization
internal import System

/// The additional workers, each on its own thread. Empty if the process has one worker.
package final class WorkerGroup {
  private unowned let worker: Worker
  package private(set) var links: [WorkerLink] = []
  private var threads: [(thread: BackgroundThread, hasEnded: ThreadSignal)] = []
  private var mainWakeup: Wakeup?
  /// One closure for each call of `ask` that waits for replies. It returns `true` when all replies have arrived.
  private var questions: [() -> Bool] = []

  /// Maximum milliseconds until a worker is ready.
  private static let startTimeout = 20_000
  /// Maximum milliseconds to wait for each worker's thread.
  private static let endTimeout = 5_000

  package init(worker: Worker) { self.worker = worker }

  /// Starts the workers, and returns when all of them can receive connections.
  package func start(_ launch: WorkerThread.LaunchValues) throws(StartError) {
    guard launch.sharedState.workers > 1 else { return }
    let mainWakeup: Wakeup
    do throws(UVError) {
      mainWakeup = try Wakeup(loop: worker.loop) { [unowned self] in processMessages() }
    } catch {
      throw .system(error.description)
    }
    self.mainWakeup = mainWakeup
    let starts = (1..<launch.sharedState.workers).map { number in
      (
        link: WorkerLink(number: number, sharedState: launch.sharedState, mainWakeup: mainWakeup),
        start: WorkerThread.StartResult()
      )
    }
    for (link, start) in starts {
      let hasEnded = ThreadSignal()
      let thread = BackgroundThread {
        WorkerThread.run(launch, link, start)
        hasEnded.signal()
      }
      guard thread.isStarted else { throw .system("bearerd cannot start a thread for worker \(link.number + 1)") }
      threads.append((thread, hasEnded))
      links.append(link)
    }
    for (link, start) in starts {
      guard start.wait(milliseconds: WorkerGroup.startTimeout) else {
        throw .system("worker \(link.number + 1) is not ready after \(WorkerGroup.startTimeout / 1_000) s")
      }
      if let problem = start.problem { throw problem }
    }
  }

  package func post(_ message: @escaping WorkerLink.Message) { for link in links { link.post(message) } }

  /// Asks all additional workers, and calls `then` once with their replies, in the order of the workers.
  package func ask<Reply: Sendable>(
    _ question: @escaping @Sendable (Worker, @escaping @Sendable (Reply) -> Void) -> Void,
    then: @escaping ([Reply]) -> Void
  ) {
    guard let mainWakeup else { return then([]) }
    let replies = Guarded([Reply?](repeating: nil, count: links.count))
    questions.append {
      let all = replies.withLock { $0.compactMap(\.self) }
      guard all.count == replies.withLock(\.count) else { return false }
      then(all)
      return true
    }
    for (index, link) in links.enumerated() {
      link.post { worker in
        question(worker) { reply in
          replies.withLock { $0[index] = reply }
          mainWakeup.wake()
        }
      }
    }
  }

  /// Adds up the counts of all workers, and passes the sum to `then`.
  package func count(_ then: @escaping (WorkerCounts) -> Void) {
    ask { worker, reply in
      reply(WorkerCounts(of: worker))
    } then: { [unowned worker] (others: [WorkerCounts]) in
      var counts = WorkerCounts(of: worker)
      for other in others { counts.add(other) }
      then(counts)
    }
  }

  package var connections: Int { links.reduce(0) { $0 + $1.connections.load(ordering: .sequentiallyConsistent) } }

  /// The activity of each worker's loop.
  package var pulses: [LoopPulse] { links.compactMap { $0.pulse.withLock(\.self) } }

  /// Ends the additional workers. Waits a limited time for their threads.
  package func close() {
    questions = []
    post { $0.end() }
    for (thread, hasEnded) in threads {
      if hasEnded.wait(milliseconds: WorkerGroup.endTimeout) { thread.join() } else { thread.detach() }
    }
    threads = []
    links = []
    mainWakeup.take()?.close()
  }

  private func processMessages() {
    if worker.sharedState.needsDescriptors.exchange(false, ordering: .sequentiallyConsistent) {
      worker.closeIdle()
      post { $0.closeIdle() }
    }
    let messages = worker.sharedState.mainThreadMessages.withLock { messages in
      defer { messages = [] }
      return messages
    }
    for message in messages { message(worker) }
    let open = questions
    questions = []
    let unfinished = open.filter { !$0() }
    // `then` may have added new questions.
    questions = unfinished + questions
  }
}
