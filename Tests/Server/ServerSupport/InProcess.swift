package import Testing

/// How a stage starts its daemon.
enum Launch: Sendable {
  /// The real binary.
  case process
  /// `ServerThread`.
  case thread

  @TaskLocal static var current = Launch.process
}

/// The stages of these tests have the server in this process: they show what it does in milliseconds, and reach what no test
/// of a module alone does.
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
