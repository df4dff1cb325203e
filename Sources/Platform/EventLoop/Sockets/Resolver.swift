// Names whose last lookup was slow can use only a part of the threads. Additional threads are reserved for names whose
// last lookup was fast, so that many hanging names do not block them.
/// Resolves names with getaddrinfo, each in its own thread (T55). Concurrent requests for one name share a lookup.
/// Results are not cached.
package final class Resolver {
  package typealias Completion = (Result<[SocketAddress], UVError>) -> Void

  package struct Limits {
    /// Maximum number of lookup threads, to which `knownFast` adds.
    package var all = 64
    /// Maximum number of lookup threads for names whose last lookup was slow; they also count towards `all`.
    package var slow = 32
    /// Number of additional lookup threads for names whose last lookup was fast.
    package var knownFast = 32
    /// A lookup that takes at least this many milliseconds is slow.
    package var slowThreshold: UInt64 = 1_000

    package init() {}

    /// Returns the limits for each of `count` resolvers that share these limits.
    package func shared(by count: Int) -> Limits {
      var part = self
      part.all = max(2, all / count)
      part.slow = max(1, slow / count)
      part.knownFast = max(1, knownFast / count)
      return part
    }
  }

  private unowned let loop: Loop
  private let limits: Limits
  private var lookups: [String: Lookup] = [:]
  private var waiting: [Lookup] = []
  /// Names whose last lookup was slow.
  private var slowNames: Set<String> = []
  private var knownNames: Set<String> = []
  package private(set) var inFlight = 0
  private var slowInFlight = 0

  package init(loop: Loop, limits: Limits = Limits()) {
    self.loop = loop
    self.limits = limits
  }

  /// Resolves a name to IPv4 and IPv6 addresses, in the system's order, without duplicates. Do not pass literal IP
  /// addresses.
  /// - Parameter completion: called once, on a later turn. A successful result is never empty.
  package func resolve(_ name: String, port: UInt16, completion: @escaping Completion) {
    // `localhost` and names below it resolve to loopback, without a server (RFC 6761 section 6.3).
    if let known = Resolver.loopback(name, port: port) { return loop.onNextTurn { completion(.success(known)) } }
    if let lookup = lookups[name] { return lookup.join(port, completion) }
    let lookup = Lookup(name, isSlow: slowNames.contains(name), isKnownFast: knownNames.contains(name)) { [self] in
      didFinish($0)
    }
    lookup.join(port, completion)
    lookups[name] = lookup
    if hasRoom(for: lookup) { start(lookup) } else { waiting.append(lookup) }
  }

  /// Returns the loopback addresses for `localhost` and names below `.localhost`. `nil` for all other names.
  package static func loopback(_ name: String, port: UInt16) -> [SocketAddress]? {
    isLocalhost(name) ? loopbackAddresses.map { SocketAddress(ip: $0, port: port) } : nil
  }

  private func hasRoom(for lookup: Lookup) -> Bool {
    inFlight < (lookup.isKnownFast ? limits.all + limits.knownFast : limits.all)
      && (!lookup.isSlow || slowInFlight < limits.slow)
  }

  private func start(_ lookup: Lookup) {
    inFlight += 1
    if lookup.isSlow { slowInFlight += 1 }
    lookup.start(on: loop)
  }

  private func didFinish(_ lookup: Lookup) {
    inFlight -= 1
    if lookup.isSlow { slowInFlight -= 1 }
    lookups[lookup.name] = nil
    if loop.now - lookup.startedAt >= limits.slowThreshold {
      slowNames.insert(lookup.name)
      knownNames.remove(lookup.name)
    } else {
      slowNames.remove(lookup.name)
      knownNames.insert(lookup.name)
    }
    while let index = waiting.firstIndex(where: hasRoom) { start(waiting.remove(at: index)) }
  }
}

private func isLocalhost(_ name: String) -> Bool {
  let name = name.lowercased()
  let bare = name.hasSuffix(".") ? String(name.dropLast()) : name
  return bare == "localhost" || bare.hasSuffix(".localhost")
}

private let loopbackAddresses: [[UInt8]] = [[127, 0, 0, 1], [UInt8](repeating: 0, count: 15) + [1]]
