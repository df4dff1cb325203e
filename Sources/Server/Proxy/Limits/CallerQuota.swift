internal import Configuration
internal import Policy
internal import System

/// The connections and requests under way of one caller, so that none can take all of them (T54). Counted for all workers
/// together.
///
/// `@unchecked Sendable`, because what changes is touched under the lock alone.
final class CallerQuota: @unchecked Sendable {
  /// Who shares one.
  enum Holder: Hashable {
    case user(UInt32)
    /// All callers whom the listener does not admit, or whom the kernel does not name, together: were each to have a share
    /// of its own, many users could take everything although none of them is admitted. A connection by a network is one of them
    /// until a client token has come over it.
    case strangers
    /// All connections by a network over which a client token has come, together: addresses are cheap.
    case network

    init(_ caller: Caller?, admittedBy callers: Callers) {
      if let caller, let uid = caller.uid, callers.admits(caller) { self = .user(uid) } else { self = .strangers }
    }

    /// For the log.
    var name: String {
      switch self {
      case .user(let uid): String(uid)
      case .strangers: "not admitted"
      case .network: "by network"
      }
    }
  }

  let holder: Holder
  private let lock: SharedLock
  fileprivate var connections = 0
  private var requests = 0
  /// Refused since the log last said so.
  fileprivate var refused = 0
  /// Milliseconds of the loops' clock; nil: never.
  fileprivate var loggedAt: UInt64?

  /// Milliseconds between two lines of the log.
  private static let silence: UInt64 = 10_000

  fileprivate init(_ holder: Holder, lock: SharedLock) {
    self.holder = holder
    self.lock = lock
  }

  /// One more request is under way, until `releaseRequest`. False: there are as many as there may be.
  func acquireRequest(outOf limit: Int) -> Bool {
    lock.enter()
    defer { lock.leave() }
    guard requests < limit else { return false }
    requests += 1
    return true
  }

  func releaseRequest() {
    lock.enter()
    defer { lock.leave() }
    requests -= 1
  }

  var requestsUnderWay: Int { lock { requests } }

  /// Something was refused. How much was since the log last said so, if it is to say so now: one line for many refusals.
  func countRefusal(at now: UInt64) -> Int? {
    lock {
      refused += 1
      // Another loop's clock may be a little ahead.
      if let loggedAt, now < loggedAt + CallerQuota.silence { return nil }
      loggedAt = now
      defer { refused = 0 }
      return refused
    }
  }
}

/// The quotas of all who are connected.
///
/// `@unchecked Sendable`, because they are touched under the lock alone.
final class CallerQuotas: @unchecked Sendable {
  private var quotas: [CallerQuota.Holder: CallerQuota] = [:]
  private let lock: SharedLock

  init(lock: SharedLock) { self.lock = lock }

  /// A connection more, whether or not it may stay; and how many that makes.
  func add(_ holder: CallerQuota.Holder) -> (quota: CallerQuota, connections: Int) {
    lock {
      let quota = quotas[holder] ?? CallerQuota(holder, lock: lock)
      quotas[holder] = quota
      quota.connections += 1
      return (quota, quota.connections)
    }
  }

  /// Counts a connection among those of another holder from now on.
  /// - Parameter share: how many connections that holder may have.
  /// - Returns: the other holder's quota; nil: it has as many connections as it may have, and nothing has changed.
  func move(_ quota: CallerQuota, to holder: CallerQuota.Holder, share: Int) -> CallerQuota? {
    lock {
      let other = quotas[holder] ?? CallerQuota(holder, lock: lock)
      guard other.connections < share else { return nil }
      quotas[holder] = other
      other.connections += 1
      quota.connections -= 1
      return other
    }
  }

  /// Whom the log has named is remembered, so that it does not do so at every turn.
  func remove(_ quota: CallerQuota) {
    lock {
      quota.connections -= 1
      if quota.connections == 0, quota.loggedAt == nil || quotas.count > 1_000 { quotas[quota.holder] = nil }
    }
  }

  /// How many requests of a holder are under way.
  func requestsUnderWay(of holder: CallerQuota.Holder) -> Int {
    (lock { quotas[holder] })?.requestsUnderWay ?? 0
  }

  /// Takes the counts of what was refused since the log last spoke of each caller.
  func removeRefusedCounts() -> [(name: String, count: Int)] {
    lock {
      let refused = quotas.values.filter { $0.refused > 0 }.map { ($0.holder.name, $0.refused) }
      for quota in quotas.values { quota.refused = 0 }
      return refused
    }
  }
}

extension Limits {
  /// - Parameter total: how many connections there may be in all.
  func connections(of holder: CallerQuota.Holder, outOf total: Int) -> Int {
    switch holder {
    // With the strangers' eighth, an eighth is left even while one user has all that it may have.
    case .user, .network: connectionsPerUser ?? max(1, total / 4 * 3)
    case .strangers: min(connectionsPerUser ?? .max, max(1, total / 8))
    }
  }

  func requestsPerUser(outOf total: Int) -> Int { requestsPerUser ?? max(1, total / 2) }
}
