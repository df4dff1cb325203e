import Foundation
package import Testing

/// For suites whose tests mostly wait for sockets, processes and timers: they run on threads of their own, more than there are
/// processors, beside the tests that compute.
package struct Waits: SuiteTrait, TestTrait, TestScoping {
  package var isRecursive: Bool { true }

  package func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    try await withTaskExecutorPreference(WaitingThreads.shared, operation: function)
  }
}

extension Trait where Self == Waits {
  package static var waits: Self { Waits() }
}

/// The threads of `Waits`.
package final class WaitingThreads: TaskExecutor {
  package static let shared = WaitingThreads()

  private let queue: OperationQueue = {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 2 * ProcessInfo.processInfo.activeProcessorCount
    return queue
  }()

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.addOperation { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
