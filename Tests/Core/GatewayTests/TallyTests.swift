import Gateway
import HTTP1
@testable import Policy
import Testing

@Suite struct TallyTests {
  private func rules(_ counts: KeyValuePairs<String, Int?>, grants: [String] = ["token"]) throws -> RuleSet {
    let rule = Rule(
      pattern: try URLPattern(parsing: "/**"), methods: try MethodSet([]), action: .deny, headers: HeaderPolicy(),
      description: nil, line: 1)
    let services = try counts.map { name, count in
      var service = try GatewayTests.service(name, at: "/\(name)/", upstream: "https://up.test/")
      service.rules = count.map { Array(repeating: rule, count: $0) }
      return service
    }
    return RuleSet(
      services: services,
      grants: try grants.map {
        Grant(name: $0, origins: [try Origin(parsing: "https://up.test")], callers: nil, fieldNames: ["authorization"])
      })
  }

  private func record(
    _ status: Int, service: Int? = nil, rule: Int? = nil, refusal: Refusal? = nil,
    edit: (inout AccessRecord) -> Void = { _ in }
  ) -> AccessRecord {
    var record = AccessRecord()
    record.status = status
    record.route = service.map { Route(service: $0, rule: rule, credential: .none, pathStart: 0) }
    record.refusal = refusal
    edit(&record)
    return record
  }

  @Test func `T60: the metrics of a new configuration are built in pieces, and counts continue`() throws {
    let old = try rules(["a": nil, "gone": 1])
    let earlier = Tally(old, after: nil)
    earlier.count(record(200, service: 0), grant: 0, at: 5)
    var services: [Service] = []
    for index in 0..<40 {
      services.append(try GatewayTests.service("s\(index)", at: "/s\(index)/", upstream: "https://up.test/"))
    }
    let new = RuleSet(services: try rules(["b": 2, "a": 3]).services + services, grants: old.grants)
    let plan = TallyPlan(new, after: (old.services.map(\.name), old.grants.map(\.name)))
    let draft = TallyBuilder(new, plan, after: earlier)
    var pieces = 0
    while !draft.advance(while: { false }) { pieces += 1 }
    #expect(pieces == 3)
    let tally = Tally(draft)
    #expect(tally.services.map(\.name) == new.services.map(\.name))
    #expect(tally.services[1] === earlier.services[0] && tally.services[1].counts[.requests] == 1)
    #expect(tally.services[0].counts[.requests] == 0 && tally.credentials[0].accepted.count == 1)
  }

  @Test func `an exchange is counted once, for its service and rule`() throws {
    let tally = Tally(try rules(["a": nil, "b": 2]), after: nil)
    tally.count(record(200, service: 0), grant: nil, at: 5)
    tally.count(
      record(404, service: 1, rule: 1) {
        $0.bytesUp = 3; $0.bytesDown = 4
      }, grant: nil, at: 6)
    tally.count(record(499, service: 1, rule: 0) { $0.isAborted = true }, grant: nil, at: 7)
    tally.count(
      record(502, service: 1, rule: 1, refusal: .plain(.pinMismatch)) { $0.isRetried = true }, grant: nil, at: 8)
    let (a, b) = (tally.services[0].counts, tally.services[1].counts)
    #expect(
      a[.requests] == 1 && a.requests(row: 0, statusClass: 1) == 1 && a.lastSuccess == 5 && a.lastFailure == nil)
    #expect(b[.requests] == 3 && b[.refusals] == 1 && b.refusals(.pinMismatch) == 1 && b[.retries] == 1)
    #expect(b.requests(row: 2, statusClass: 3) == 1 && b.requests(row: 1, statusClass: 3) == 1)
    #expect(b.requests(row: 2, statusClass: 4) == 1 && b.requests(row: 0, statusClass: 4) == 0)
    #expect(b[.bytesUp] == 3 && b[.bytesDown] == 4 && b.lastSuccess == 6 && b.lastFailure == 8 && b.lastStatus == 502)
    #expect(tally.withoutService.counts[.requests] == 0)
  }

  @Test(
    arguments: [
      (.http1, nil, .http1Local), (.http1, .http1, .http1OverHTTP1), (.http1, .http2, .http1OverHTTP2),
      (.http2, nil, .http2Local), (.http2, .http1, .http2OverHTTP1), (.http2, .http2, .http2OverHTTP2),
    ] as [(ApplicationProtocol, ApplicationProtocol?, ServiceCounter)])
  func `a request is counted for its two versions`(
    client: ApplicationProtocol, upstream: ApplicationProtocol?, counter: ServiceCounter
  ) throws {
    let tally = Tally(try rules(["a": nil]), after: nil)
    tally.count(
      record(200, service: 0) {
        ($0.clientProtocol, $0.upstreamProtocol) = (client, upstream)
      }, grant: nil, at: 1)
    for other in ServiceCounter.allCases where other != .requests {
      #expect(tally.services[0].counts[other] == (other == counter ? 1 : 0), "\(other)")
    }
  }

  @Test func `the counts of several workers are added up`() throws {
    var sum = ServiceCounts()
    for status in [200, 404] {
      let tally = Tally(try rules(["a": 1]), after: nil)
      for counter in ServiceCounter.allCases { tally.services[0].count(counter) }
      tally.count(record(status, service: 0, rule: 0), grant: nil, at: UInt64(status))
      sum.add(tally.services[0].counts)
    }
    for counter in ServiceCounter.allCases {
      #expect(sum[counter] == (counter == .requests || counter == .http1Local ? 4 : 2), "\(counter)")
    }
    #expect(sum.requests(row: 1, statusClass: 1) == 1 && sum.requests(row: 1, statusClass: 3) == 1)
    #expect(sum.lastStatus == 404 && sum.lastSuccess == 404 && sum.lastFailure == nil)
  }

  @Test func `a refusal is counted for its service if the service is known`() throws {
    let tally = Tally(try rules(["a": 2]), after: nil)
    tally.count(record(403, refusal: .policy(.denied(service: 0, rule: 1))), grant: nil, at: 1)
    tally.count(record(403, refusal: .policy(.noRule(service: 0))), grant: nil, at: 2)
    tally.count(record(404, refusal: .policy(.noService)), grant: nil, at: 3)
    tally.count(record(400, refusal: .malformed(.badHost)), grant: nil, at: 4)
    // Indices that no configuration has must not trap.
    tally.count(record(403, refusal: .policy(.denied(service: 7, rule: 70))), grant: 9, at: 5)
    tally.count(record(0, service: 0, rule: 99), grant: nil, at: 6)
    #expect(tally.services[0].counts.refusals(.denied) == 1 && tally.services[0].counts.refusals(.noRule) == 1)
    #expect(tally.services[0].counts.requests(row: 2, statusClass: 3) == 1)
    #expect(
      tally.withoutService.counts.refusals(.noService) == 1
        && tally.withoutService.counts.refusals(.malformedRequest) == 1)
    // A mistake of the caller is no failure of the service.
    #expect(tally.services[0].counts.lastFailure == nil)
  }

  @Test func `the counts of a service continue after a reload`() throws {
    let first = Tally(try rules(["a": 1, "b": nil], grants: ["x", "y"]), after: nil)
    first.count(record(200, service: 0, rule: 0), grant: 1, at: 1)
    let second = Tally(try rules(["c": nil, "a": 3], grants: ["y"]), after: first)
    #expect(second.services.map(\.name) == ["c", "a"])
    #expect(second.services[1].counts.requests(row: 1, statusClass: 1) == 1)
    #expect(second.credentials[0].accepted.count == 1)
    second.count(record(200, service: 1, rule: 2), grant: nil, at: 2)
    #expect(second.services[1].counts.requests(row: 3, statusClass: 1) == 1)
    // An exchange that began before the reload ends after it.
    first.count(record(200, service: 0, rule: 0), grant: 0, at: 3)
    #expect(second.services[1].counts[.requests] == 3)
    #expect(Tally(try rules(["b": nil]), after: second).services[0].counts[.requests] == 0)
  }

  @Test func `accepted and rejected credentials are counted`() throws {
    let tally = Tally(try rules(["a": nil]), after: nil)
    tally.count(record(200, service: 0), grant: 0, at: 1)
    tally.count(record(401, service: 0) { $0.isRejected = true }, grant: 0, at: 2)
    tally.count(record(502, service: 0, refusal: .plain(.pinMismatch)), grant: 0, at: 3)
    let credential = tally.credentials[0]
    #expect(credential.accepted.count == 1 && credential.rejected.count == 1)
    #expect(credential.accepted.last == 1 && credential.rejected.last == 2)
    #expect(tally.services[0].counts.lastFailure == 3)
  }

  @Test func `the latest refusals are kept, newest first`() throws {
    let tally = Tally(try rules(["a": nil]), after: nil)
    for time in 1...11 { tally.count(record(404, refusal: .policy(.noService)), grant: nil, at: UInt64(time)) }
    tally.count(record(502, service: 0, refusal: .plain(.pinMismatch)), grant: nil, at: 12)
    #expect(tally.recent.entries.map(\.time) == [12, 11, 10, 9, 8, 7, 6, 5])
    #expect(tally.recent.entries[0].service == "a" && tally.recent.entries[0].code == .pinMismatch)
    #expect(tally.recent.entries[1].service == "")
  }
}
