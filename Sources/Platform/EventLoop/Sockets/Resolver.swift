internal import CLibuv
internal import Glibc

/// Name resolution by getaddrinfo, which can hang for as long as a name server does. Each lookup has a thread of its own,
/// made for it: none waits for another's. Lookups of one name are joined, so that there are never more threads than names;
/// those in flight are capped. Names that took long before get only a part of that, and some more are for names that were
/// answered before, so that those find room even while many others are not (T55).
///
/// Nothing is remembered but that: getaddrinfo does not say for how long an answer holds.
package final class Resolver {
  package typealias Completion = (Result<[SocketAddress], UVError>) -> Void

  package struct Limits {
    /// Threads.
    package var all = 64
    /// Among these, for names whose last lookup was slow.
    package var slow = 32
    /// Besides these, for names whose last lookup was not.
    package var known = 32
    /// Milliseconds from which on it was.
    package var slowness: UInt64 = 1_000

    package init() {}

    /// A part for each of several resolvers.
    package func shared(by count: Int) -> Limits {
      var part = self
      part.all = max(2, all / count)
      part.slow = max(1, slow / count)
      part.known = max(1, known / count)
      return part
    }
  }

  private unowned let loop: Loop
  private let limits: Limits
  private var lookups: [String: Lookup] = [:]
  private var waiting: [Lookup] = []
  /// Names come from the configuration, so these are few.
  private var slowNames: Set<String> = []
  private var knownNames: Set<String> = []
  /// Lookups under way, one per name.
  package private(set) var inFlight = 0
  private var slowInFlight = 0

  package init(loop: Loop, limits: Limits = Limits()) {
    self.loop = loop
    self.limits = limits
  }

  /// Both families, in the system's order (RFC 6724), no duplicates; never an empty list. `completion` is called on a later
  /// turn, once. Literal IPs are not for this call. `localhost` and what ends in `.localhost` is loopback and asks
  /// no server (RFC 6761 section 6.3).
  package func resolve(_ name: String, port: UInt16, completion: @escaping Completion) {
    if let known = Resolver.loopback(name, port: port) { return loop.onNextTurn { completion(.success(known)) } }
    if let lookup = lookups[name] {
      return lookup.join(port, completion)
    }
    let lookup = Lookup(name, isSlow: slowNames.contains(name), isKnown: knownNames.contains(name)) { [self] in
      didFinish($0)
    }
    lookup.join(port, completion)
    lookups[name] = lookup
    if hasRoom(for: lookup) { start(lookup) } else { waiting.append(lookup) }
  }

  /// The addresses of `localhost` and its like, at once; nil: a server has to be asked.
  package static func loopback(_ name: String, port: UInt16) -> [SocketAddress]? {
    isLocalhost(name) ? loopbackAddresses.map { SocketAddress(ip: $0, port: port) } : nil
  }

  private func hasRoom(for lookup: Lookup) -> Bool {
    inFlight < (lookup.isKnown ? limits.all + limits.known : limits.all)
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
    if loop.now - lookup.startedAt >= limits.slowness {
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
