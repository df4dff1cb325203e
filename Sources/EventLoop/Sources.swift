/// A repeating or one-shot timer. The daemon has few: one drives its timer wheel.
package final class Timer {
  package init(loop: Loop, onFire: @escaping () -> Void) { fatalError() }
  /// Milliseconds. Starting again moves it.
  package func start(after delay: UInt64, repeatEvery: UInt64 = 0) { fatalError() }
  package func stop() { fatalError() }
  package func close() { fatalError() }
}

package final class SignalSource {
  package init(loop: Loop, signal: Int32, onSignal: @escaping () -> Void) throws(UVError) { fatalError() }
  package func close() { fatalError() }
}

/// Watches a descriptor of somebody else's for readability.
package final class ReadableSource {
  package init(loop: Loop, descriptor: Int32, onReadable: @escaping () -> Void) throws(UVError) { fatalError() }
  package func close() { fatalError() }
}

/// Wakes a loop from another thread.
package final class Wakeup {
  package init(loop: Loop, onWake: @escaping () -> Void) throws(UVError) { fatalError() }
  /// The only member that may be called from another thread.
  package func wake() { fatalError() }
  package func close() { fatalError() }
}

/// Name resolution by getaddrinfo on libuv's pool, whose size it sets before first use. Lookups of one name are joined; the number in flight is capped per name (1) and in all, so that a dead name server for one name delays nobody else.
package final class Resolver {
  package init(loop: Loop) { fatalError() }
  /// Both families, in the system's order (RFC 6724), no duplicates. `completion` is called on a later turn, once. Literal IPs are not for this call.
  package func resolve(_ name: String, port: UInt16, completion: @escaping (Result<[SocketAddress], UVError>) -> Void) { fatalError() }
}
