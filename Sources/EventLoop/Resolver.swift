internal import CLibuv
internal import Glibc

/// Name resolution by getaddrinfo on libuv's pool, whose size it sets before first use. Lookups of one name are joined,
/// and the number in flight is capped in all: libuv gives "slow" work half of its threads, so that many names must hang
/// at once before others have to wait.
///
/// Nothing is remembered: getaddrinfo does not say for how long an answer holds.
package final class Resolver {
  package typealias Completion = (Result<[SocketAddress], UVError>) -> Void

  private unowned let loop: Loop
  private var lookups: [String: Lookup] = [:]
  private var waiting: [Lookup] = []
  /// Lookups under way, one per name; never more than half of libuv's pool.
  package private(set) var inFlight = 0
  private let limit: Int

  package init(loop: Loop) {
    self.loop = loop
    setenv("UV_THREADPOOL_SIZE", "\(defaultPoolSize)", 0)  // 0: an operator's own value stays
    let poolSize = getenv("UV_THREADPOOL_SIZE").flatMap { Int(String(cString: $0)) } ?? defaultPoolSize
    limit = (min(max(poolSize, 1), 1024) + 1) / 2  // what libuv makes of it (threadpool.c)
  }

  /// Both families, in the system's order (RFC 6724), no duplicates; never an empty list. `completion` is called on a later
  /// turn, once. Literal IPs are not for this call. `localhost` and what ends in `.localhost` is loopback and asks
  /// nobody (RFC 6761 section 6.3).
  package func resolve(_ name: String, port: UInt16, completion: @escaping Completion) {
    if isLocalhost(name) {
      return loop.onNextTurn { completion(.success(loopback.map { SocketAddress(ip: $0, port: port) })) }
    }
    if let lookup = lookups[name] {
      return lookup.join(port, completion)
    }
    let lookup = Lookup(name) { [self] in didFinish($0) }
    lookup.join(port, completion)
    lookups[name] = lookup
    if inFlight < limit { start(lookup) } else { waiting.append(lookup) }
  }

  private func start(_ lookup: Lookup) {
    inFlight += 1
    lookup.start(on: loop)
  }

  private func didFinish(_ lookup: Lookup) {
    inFlight -= 1
    lookups[lookup.name] = nil
    if !waiting.isEmpty { start(waiting.removeFirst()) }
  }
}

private func isLocalhost(_ name: String) -> Bool {
  let name = name.lowercased()
  let bare = name.hasSuffix(".") ? String(name.dropLast()) : name
  return bare == "localhost" || bare.hasSuffix(".localhost")
}

private let loopback: [[UInt8]] = [[127, 0, 0, 1], [UInt8](repeating: 0, count: 15) + [1]]
private let defaultPoolSize = 16
