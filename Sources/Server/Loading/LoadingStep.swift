internal import Synchronization

/// The name of the file, user or group that is being read.
package final class LoadingStep: Sendable {
  private let current = Mutex("")
  private let onBegin: @Sendable (String) -> Void

  package init(onBegin: @escaping @Sendable (String) -> Void = { _ in }) { self.onBegin = onBegin }

  package func begin(_ name: String) {
    current.withLock { $0 = name }
    onBegin(name)
  }
  package var name: String { current.withLock { $0 } }
}
