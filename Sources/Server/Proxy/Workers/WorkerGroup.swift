package import Configuration
package import EventLoop
internal import Synchronization
internal import System

/// The workers besides the first one, each on a thread of its own, as the main thread sees them. None of them: there is one
/// worker, and everything here is over at once.
package final class WorkerGroup {
  private unowned let worker: Worker
  package private(set) var links: [WorkerLink] = []
  private var threads: [(thread: BackgroundThread, hasEnded: ThreadSignal)] = []
  private var bell: Wakeup?
  /// Questions that are open. Each says whether it has been answered now.
  private var questions: [() -> Bool] = []

  /// Milliseconds for the start of one, of which half a second is for files of secrets that do not answer; and for its end.
  private static let startPatience = 20_000
  private static let endPatience = 5_000

  package init(worker: Worker) { self.worker = worker }

  /// Returns when all of them can take connections.
  package func start(_ beginning: WorkerThread.Beginning) throws(StartError) {
    guard beginning.sharedState.workers > 1 else { return }
    let bell: Wakeup
    do throws(UVError) {
      bell = try Wakeup(loop: worker.loop) { [unowned self] in listen() }
    } catch {
      throw .system(error.description)
    }
    self.bell = bell
    let starts = (1..<beginning.sharedState.workers).map { number in
      (link: WorkerLink(number: number, sharedState: beginning.sharedState, bell: bell), start: WorkerThread.Start())
    }
    for (link, start) in starts {
      let hasEnded = ThreadSignal()
      let thread = BackgroundThread {
        WorkerThread.run(beginning, link, start)
        hasEnded.give()
      }
      guard thread.isStarted else { throw .system("bearerd cannot start a thread for worker \(link.number + 1)") }
      threads.append((thread, hasEnded))
      links.append(link)
    }
    for (link, start) in starts {
      guard start.wait(milliseconds: WorkerGroup.startPatience) else {
        throw .system("worker \(link.number + 1) is not ready after \(WorkerGroup.startPatience / 1_000) s")
      }
      if let problem = start.problem { throw problem }
    }
  }

  /// To all of them.
  package func tell(_ message: @escaping WorkerLink.Message) { for link in links { link.post(message) } }

  /// Calls `then` once, with what each of them has replied, in their order. At once, if there are none.
  package func ask<Reply: Sendable>(
    _ question: @escaping @Sendable (Worker, @escaping @Sendable (Reply) -> Void) -> Void,
    then: @escaping ([Reply]) -> Void
  ) {
    guard let bell else { return then([]) }
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
          bell.wake()
        }
      }
    }
  }

  /// Adds up what all workers have counted.
  package func count(_ then: @escaping (WorkerCounts) -> Void) {
    ask { worker, reply in
      reply(WorkerCounts(of: worker))
    } then: { [unowned worker] (others: [WorkerCounts]) in
      var counts = WorkerCounts(of: worker)
      for other in others { counts.add(other) }
      then(counts)
    }
  }

  /// Connections that the others have.
  package var connections: Int { links.reduce(0) { $0 + $1.connections.load(ordering: .sequentiallyConsistent) } }

  /// The pulses of the workers that have started.
  package var pulses: [LoopPulse] { links.compactMap { $0.pulse.withLock(\.self) } }

  /// Whatever still runs is cut. Returns when they have ended, or take too long for it.
  package func close() {
    questions = []
    tell { $0.end() }
    for (thread, hasEnded) in threads {
      if hasEnded.wait(milliseconds: WorkerGroup.endPatience) { thread.join() } else { thread.leave() }
    }
    threads = []
    links = []
    bell?.close()
    bell = nil
  }

  private func listen() {
    if worker.sharedState.wantsRoom.exchange(false, ordering: .sequentiallyConsistent) {
      worker.closeIdle()
      tell { $0.closeIdle() }
    }
    let errands = worker.sharedState.errands.withLock { errands in
      defer { errands = [] }
      return errands
    }
    for errand in errands { errand(worker) }
    let open = questions
    questions = []
    let unanswered = open.filter { !$0() }
    // Questions that an answer has led to come behind them.
    questions = unanswered + questions
  }
}
