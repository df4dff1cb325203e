/// A value that several threads access under a lock.
/// `@unchecked Sendable`, because the value is accessed only under the lock.
package final class Guarded<Value: Sendable>: @unchecked Sendable {
  private let lock = SharedLock(isShared: true)
  private var value: Value

  package init(_ value: Value) { self.value = value }

  package func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
    lock.lock()
    defer { lock.unlock() }
    return body(&value)
  }
}
