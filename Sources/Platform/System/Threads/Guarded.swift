/// A value that several threads change, each in its turn. As `Synchronization.Mutex`, but with a lock that the thread sanitizer
/// sees.
///
/// `@unchecked Sendable`, because the value is touched under the lock alone.
package final class Guarded<Value: Sendable>: @unchecked Sendable {
  private let lock = SharedLock(isShared: true)
  private var value: Value

  package init(_ value: Value) { self.value = value }

  package func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
    lock.enter()
    defer { lock.leave() }
    return body(&value)
  }
}
