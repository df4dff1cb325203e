import Glibc

/// Returns the CPU time of `work` on this thread. Takes the best of five runs, to exclude the effects of other
/// processes.
package func threadCost(_ work: () throws -> Void) rethrows -> Duration {
  var best = Duration.seconds(1_000)
  for _ in 0..<5 {
    let start = processorTime()
    try work()
    best = min(best, processorTime() - start)
  }
  return best
}

private func processorTime() -> Duration {
  var time = timespec()
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
  return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
}
