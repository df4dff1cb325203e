import Foundation

/// Keeps an object until the process ends, if other code frees its resources. Leak detection still finds the object.
package func keepForever(_ object: AnyObject) {
  lock.withLock { immortals.append(object) }
}

private let lock = NSLock()
nonisolated(unsafe) private var immortals: [AnyObject] = []
