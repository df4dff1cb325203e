package import EventLoop
internal import Synchronization
internal import System

/// Runs work that may block for an unlimited time (T55), each task on its own thread.
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

  /// Runs `work` on a new thread, and then calls `onEnd` on the loop, but never after `close`. `onEnd` receives `nil`
  /// if no thread could be started.
  package func run<Value: Sendable>(_ work: @escaping @Sendable () -> Value, onEnd: @escaping (Value?) -> Void) {
    let (job, outcome) = (Job(), Outcome<Value>())
    do throws(UVError) {
      let wakeup = try Wakeup(loop: loop) { [unowned self, unowned job] in
        // The work has finished, so `join` returns immediately.
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
