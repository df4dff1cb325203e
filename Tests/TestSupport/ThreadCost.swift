import Glibc

/// What work takes of the processor, on this thread alone: the best of five, so that whoever else runs counts little.
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
