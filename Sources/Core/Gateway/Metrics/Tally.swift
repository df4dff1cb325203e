package import Policy

/// The counters of a worker, as one generation of the configuration names them.
package final class Tally {
  /// In the order of the rule set.
  package let services: [ServiceTally]
  /// In the order of the grants.
  package let credentials: [CredentialTally]
  /// The counters of requests that came to no service.
  package let unplaced: ServiceTally
  package let recent: RecentRefusals

  /// - Parameter earlier: of the generation before: services and credentials of the same name go on.
  package convenience init(_ rules: RuleSet, after earlier: Tally?) {
    let draft = TallyBuilder(
      rules, TallyPlan(rules, after: (earlier?.services.map(\.name) ?? [], earlier?.credentials.map(\.name) ?? [])),
      after: earlier)
    _ = draft.goOn { true }
    self.init(draft)
  }

  /// - Parameter draft: one that is whole.
  package init(_ draft: TallyBuilder) {
    let earlier = draft.earlier
    (services, credentials) = (draft.services, draft.credentials)
    unplaced = earlier?.unplaced ?? ServiceTally(name: "")
    unplaced.makeRoom(rules: 0)
    recent = earlier?.recent ?? RecentRefusals()
  }

  /// An exchange has ended.
  /// - Parameters:
  ///   - responseHead: microseconds from the request's head to that of the answer; nil: none came.
  ///   - time: milliseconds of the loop's clock.
  package func count(_ exchange: inout Exchange, responseHead: UInt64?, at time: UInt64) {
    count(exchange.record, grant: exchange.grant, responseHead: responseHead, at: time)
  }

  /// - Parameter grant: whose credential it had, or was to have.
  package func count(_ record: borrowing AccessRecord, grant: Int?, responseHead: UInt64? = nil, at time: UInt64) {
    let place = record.place
    let tally: ServiceTally
    if let service = place?.service, service < services.count { tally = services[service] } else { tally = unplaced }
    tally.count(record, rule: place?.rule, responseHead: responseHead, at: time)
    if let grant, grant < credentials.count { credentials[grant].count(record, at: time) }
    if let refusal = record.refusal { recent.note(refusal.code, service: tally, at: time) }
  }
}

extension Tally {
  /// A connection was refused before anything was read from it.
  package func countUnread(_ code: RefusalCode, at time: UInt64) {
    unplaced.count(refusal: code)
    recent.note(code, service: unplaced, at: time)
  }
}

/// The counters of one credential.
package final class CredentialTally {
  package struct Use: Sendable {
    package fileprivate(set) var count: UInt64 = 0
    /// Milliseconds of the loop's clock.
    package fileprivate(set) var last: UInt64?

    /// Adds what another worker has counted of the same credential.
    package mutating func add(_ other: Use) {
      count &+= other.count
      last = later(last, other.last)
    }

    fileprivate mutating func note(_ time: UInt64) {
      count &+= 1
      last = time
    }
  }

  package let name: String
  /// Answers of upstreams to requests with it, those aside that reject it.
  package var accepted: Use { acceptances }
  /// 401 and 407.
  package var rejected: Use { rejections }
  private var acceptances = Use()
  private var rejections = Use()

  init(name: String) { self.name = name }

  func count(_ record: borrowing AccessRecord, at time: UInt64) {
    if record.isRejected {
      rejections.note(time)
    } else if record.refusal == nil, !record.isAborted {
      acceptances.note(time)
    }
  }
}

/// The last few refusals, the newest first.
package final class RecentRefusals {
  package struct Entry: Sendable {
    package let code: RefusalCode
    package let service: String
    /// Milliseconds of the loop's clock.
    package let time: UInt64
  }

  private var ring: [(code: RefusalCode, service: ServiceTally, time: UInt64)] = []
  private var next = 0
  package static let limit = 8

  init() { ring.reserveCapacity(RecentRefusals.limit) }

  package var entries: [Entry] {
    let ordered = Array(ring[next...] + ring[..<next])
    return ordered.reversed().map { Entry(code: $0.code, service: $0.service.name, time: $0.time) }
  }

  func note(_ code: RefusalCode, service: ServiceTally, at time: UInt64) {
    if ring.count < RecentRefusals.limit {
      ring.append((code, service, time))
    } else {
      ring[next] = (code, service, time)
      next = (next &+ 1) % RecentRefusals.limit
    }
  }
}
