package import Policy

/// A worker's counters for the services and credentials of one loaded configuration.
package final class Tally {
  package let services: [ServiceTally]
  package let credentials: [CredentialTally]
  package let withoutService: ServiceTally
  package let recent: RecentRefusals

  /// - Parameter earlier: the previous configuration's tally, whose counters are kept for the same names.
  package convenience init(_ rules: RuleSet, after earlier: Tally?) {
    let draft = TallyBuilder(
      rules, TallyPlan(rules, after: (earlier?.services.map(\.name) ?? [], earlier?.credentials.map(\.name) ?? [])),
      after: earlier)
    _ = draft.advance { true }
    self.init(draft)
  }

  /// - Parameter draft: a builder whose `advance` has returned `true`.
  package init(_ draft: TallyBuilder) {
    let earlier = draft.earlier
    (services, credentials) = (draft.services, draft.credentials)
    withoutService = earlier?.withoutService ?? ServiceTally(name: "")
    withoutService.addRows(rules: 0)
    recent = earlier?.recent ?? RecentRefusals()
  }

  /// Counts a completed exchange.
  /// - Parameters:
  ///   - responseHead: microseconds from the request's head to the response's head. `nil` if there was no response.
  ///   - time: the loop's time, in milliseconds.
  package func count(_ exchange: inout Exchange, responseHead: UInt64?, at time: UInt64) {
    let grant = exchange.grant
    count(exchange.record, grant: grant, responseHead: responseHead, at: time)
  }

  /// Counts a completed exchange.
  /// - Parameter grant: index of the grant for the request, even if its credential was not sent.
  @inline(__always)
  package func count(_ record: borrowing AccessRecord, grant: Int?, responseHead: UInt64? = nil, at time: UInt64) {
    let location = record.serviceAndRule
    let tally =
      if let service = location?.service, service < services.count { services[service] } else { withoutService }
    tally.count(record, rule: location?.rule, responseHead: responseHead, at: time)
    if let grant, grant < credentials.count { credentials[grant].count(record, at: time) }
    if let refusal = record.refusal { recent.note(refusal.code, service: tally, at: time) }
  }

  /// Counts a connection that was refused before a request was read.
  package func countUnread(_ code: RefusalCode, at time: UInt64) {
    withoutService.count(refusal: code)
    recent.note(code, service: withoutService, at: time)
  }
}

package final class CredentialTally {
  package struct Use: Sendable {
    package fileprivate(set) var count: UInt64 = 0
    /// Time of the last counted response, in milliseconds of the loop's clock. `nil` if there was none.
    package fileprivate(set) var last: UInt64?

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
  /// Complete responses that do not reject the credential.
  package var accepted: Use { acceptances }
  /// Responses that reject the credential with 401 or 407.
  package var rejected: Use { rejections }
  private var acceptances = Use()
  private var rejections = Use()

  init(name: String) { self.name = name }

  @inline(__always)
  func count(_ record: borrowing AccessRecord, at time: UInt64) {
    if record.isRejected {
      rejections.note(time)
    } else if record.refusal == nil, !record.isAborted {
      acceptances.note(time)
    }
  }
}

/// The most recent refusals, newest first.
package final class RecentRefusals {
  package struct Entry: Sendable {
    package let code: RefusalCode
    package let service: String
    /// Time of the refusal, in milliseconds of the loop's clock.
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
