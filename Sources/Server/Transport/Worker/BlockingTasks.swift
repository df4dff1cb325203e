package import EventLoop
internal import Synchronization
internal import System

/// Work that may take any time, each piece on a thread of its own, made for it (T55). A thread that hangs cannot be stopped: at
/// the end it is left behind, and what it finds goes with it.
package final class BlockingTasks {
  private unowned let loop: Loop
  private var jobs: [ObjectIdentifier: Job] = [:]

  private final class Job {
    var wakeup: Wakeup?
    var thread: BackgroundThread?
  }

  private final class Outcome<Value: Sendable>: Sendable {
    let value = Mutex<Value?>(nil)
  }

  package init(loop: Loop) { self.loop = loop }

  /// `onEnd` is called once, on a later turn, unless `close` comes first. nil: the system has no thread for it.
  package func run<Value: Sendable>(_ work: @escaping @Sendable () -> Value, onEnd: @escaping (Value?) -> Void) {
    let (job, outcome) = (Job(), Outcome<Value>())
    do throws(UVError) {
      let wakeup = try Wakeup(loop: loop) { [unowned self, unowned job] in
        // The job has said that it is done: this takes no time.
        job.thread?.join()
        end(job)
        onEnd(outcome.value.withLock { $0 })
      }
      job.wakeup = wakeup
      jobs[ObjectIdentifier(job)] = job
      let thread = BackgroundThread {
        let value = work()
        outcome.value.withLock { $0 = value }
        wakeup.wake()
      }
      job.thread = thread
      if !thread.isStarted { wakeup.wake() }
    } catch {
      loop.onNextTurn { onEnd(nil) }
    }
  }

  package func close() {
    for job in jobs.values { end(job) }
  }

  private func end(_ job: Job) {
    job.wakeup?.close()
    jobs[ObjectIdentifier(job)] = nil
  }
}
