import Foundation

/// For an object whose resources somebody else will free: it stays until the process ends, where leak detection can see it.
package func keepForever(_ object: AnyObject) {
  lock.withLock { immortals.append(object) }
}

private let lock = NSLock()
nonisolated(unsafe) private var immortals: [AnyObject] = []
