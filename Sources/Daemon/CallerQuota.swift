internal import Configuration
internal import Policy

/// What one caller has of connections and of requests under way, so that none can take all of them (T54).
final class CallerQuota {
  /// Who shares one.
  enum Holder: Hashable {
    case user(UInt32)
    /// All whom the listener does not admit, or whom the kernel does not name, together: were each to have a share of its
    /// own, many users could take everything although nobody lets them in.
    case strangers
    /// All who come by a network, together: addresses are cheap, and no token has come yet.
    case network

    init(_ caller: Caller?, admittedBy callers: Callers) {
      guard let caller else {
        self = .strangers
        return
      }
      if let uid = caller.uid { self = callers.admits(caller) ? .user(uid) : .strangers } else { self = .network }
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
  fileprivate(set) var connections = 0
  var requests = 0
  /// Refused since the log last said so.
  var refused = 0
  /// Milliseconds of the loop's clock; nil: never.
  var loggedAt: UInt64?

  init(_ holder: Holder) { self.holder = holder }
}

/// The quotas of all who are connected.
struct CallerQuotas {
  private var quotas: [CallerQuota.Holder: CallerQuota] = [:]

  var withRefusals: [CallerQuota] { quotas.values.filter { $0.refused > 0 } }

  /// A connection more, whether or not it may stay.
  mutating func add(_ holder: CallerQuota.Holder) -> CallerQuota {
    if let known = quotas[holder] {
      known.connections += 1
      return known
    }
    let quota = CallerQuota(holder)
    quotas[holder] = quota
    quota.connections = 1
    return quota
  }

  /// Whom the log has named is remembered, so that it does not do so at every turn.
  mutating func remove(_ quota: CallerQuota) {
    quota.connections -= 1
    if quota.connections == 0, quota.loggedAt == nil || quotas.count > 1_000 { quotas[quota.holder] = nil }
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
