internal import Configuration
internal import Policy
internal import Settings
internal import System

/// Counts the connections and requests of one caller in all workers (T54).
final class CallerQuota: @unchecked Sendable {
  // All mutable state is used only under the lock.
  enum Holder: Hashable {
    case user(UInt32)
    /// All callers that are not admitted, or whose user is unknown, and network connections without a client token.
    case notAdmitted
    /// All network connections that have sent a client token.
    case network

    init(_ caller: Caller?, admittedBy callers: Callers) {
      if let caller, let uid = caller.uid, callers.admits(caller) { self = .user(uid) } else { self = .notAdmitted }
    }

    var name: String {
      switch self {
      case .user(let uid): String(uid)
      case .notAdmitted: "not admitted"
      case .network: "by network"
      }
    }
  }

  let holder: Holder
  private let lock: SharedLock
  fileprivate var connections = 0
  private var requests = 0
  /// Refusals since the last log line.
  fileprivate var refused = 0
  /// The time of the last log line, in milliseconds of the loop's clock. `nil` if there was none.
  fileprivate var loggedAt: UInt64?

  /// Minimum milliseconds between two log lines about the same quota.
  private static let logInterval: UInt64 = 10_000

  fileprivate init(_ holder: Holder, lock: SharedLock) {
    self.holder = holder
    self.lock = lock
  }

  /// Counts a request as in progress. Returns `false` if `limit` is reached.
  func acquireRequest(outOf limit: Int) -> Bool {
    lock.lock()
    defer { lock.unlock() }
    guard requests < limit else { return false }
    requests += 1
    return true
  }

  func releaseRequest() {
    lock.lock()
    defer { lock.unlock() }
    requests -= 1
  }

  var requestsInProgress: Int { lock { requests } }

  /// Counts a refusal. Returns the number of refusals to log now, or `nil` if none should be logged.
  func countRefusal(at now: UInt64) -> Int? {
    lock {
      refused += 1
      // The clock of another loop can be slightly ahead, so `now` is not subtracted.
      if let loggedAt, now < loggedAt + CallerQuota.logInterval { return nil }
      loggedAt = now
      defer { refused = 0 }
      return refused
    }
  }
}

/// The quotas of all connected callers.
final class CallerQuotas: @unchecked Sendable {
  // All mutable state is used only under the lock.
  private var quotas: [CallerQuota.Holder: CallerQuota] = [:]
  private let lock: SharedLock

  init(lock: SharedLock) { self.lock = lock }

  /// Counts a connection, even if it exceeds the limit. Returns the quota and its number of connections.
  func add(_ holder: CallerQuota.Holder) -> (quota: CallerQuota, connections: Int) {
    lock {
      let quota = quotas[holder] ?? CallerQuota(holder, lock: lock)
      quotas[holder] = quota
      quota.connections += 1
      return (quota, quota.connections)
    }
  }

  /// Moves a connection to the quota of `holder`, which may have `share` connections. Returns `nil` if that quota is
  /// full.
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

  /// Subtracts one connection from `quota`. Deletes a quota without connections, but usually keeps one whose refusals
  /// were logged.
  func remove(_ quota: CallerQuota) {
    lock {
      quota.connections -= 1
      // A quota whose refusals were logged is kept, so that `logInterval` still limits its log lines.
      if quota.connections == 0, quota.loggedAt == nil || quotas.count > 1_000 { quotas[quota.holder] = nil }
    }
  }

  func requestsInProgress(of holder: CallerQuota.Holder) -> Int {
    (lock { quotas[holder] })?.requestsInProgress ?? 0
  }

  /// Returns each caller's number of refusals since its last log line, and resets these numbers.
  func removeRefusedCounts() -> [(name: String, count: Int)] {
    lock {
      let refused = quotas.values.filter { $0.refused > 0 }.map { ($0.holder.name, $0.refused) }
      for quota in quotas.values { quota.refused = 0 }
      return refused
    }
  }
}

extension Limits {
  /// Returns how many of `total` connections a holder may have.
  func connections(of holder: CallerQuota.Holder, outOf total: Int) -> Int {
    switch holder {
    // One user gets 3/4 and callers that are not admitted get 1/8, so 1/8 always remains for others.
    case .user, .network: connectionsPerUser ?? max(1, total / 4 * 3)
    case .notAdmitted: min(connectionsPerUser ?? .max, max(1, total / 8))
    }
  }

  func requestsPerUser(outOf total: Int) -> Int { requestsPerUser ?? max(1, total / 2) }
}
