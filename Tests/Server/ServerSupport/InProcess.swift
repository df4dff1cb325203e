package import Testing

enum Launch: Sendable {
  /// The `bearerd` program.
  case process
  case thread

  @TaskLocal static var current = Launch.process
}

/// A trait that runs the daemon of each stage in the test process. Such a test takes milliseconds.
package struct InProcess: SuiteTrait, TestTrait, TestScoping {
  package var isRecursive: Bool { true }

  package func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    try await Launch.$current.withValue(.thread) {
      try await withTaskExecutorPreference(WaitingThreads.shared, operation: function)
    }
  }
}

extension Trait where Self == InProcess {
  package static var inProcess: Self { InProcess() }
}
