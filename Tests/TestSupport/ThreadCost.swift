import Glibc

/// Returns the CPU time of `work` on this thread. Takes the best of five runs, to exclude the effects of other
/// processes.
package func threadCost(_ work: () throws -> Void) rethrows -> Duration {
  var best = Duration.seconds(1_000)
  for _ in 0..<5 {
    let start = threadTime()
    try work()
    best = min(best, .nanoseconds(Int64(threadTime() - start)))
  }
  return best
}
