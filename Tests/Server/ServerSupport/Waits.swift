import Foundation
package import Testing

/// A trait for tests that mostly wait. They run on additional threads, so that they do not block the tests that
/// compute.
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
