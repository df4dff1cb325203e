@testable import Gateway
@testable import Policy
import Testing

@Suite struct RateLimitsTests {
  private let me = Caller(uid: 1_000)
  private static let minute = Rate(requests: 60, per: .minute)
  private static let hour = Rate(requests: 60, per: .hour)

  private func rule(_ pattern: String, _ rate: RuleRate = .inherited, methods: [String] = []) throws -> Rule {
    Rule(
      pattern: try URLPattern(parsing: pattern), methods: try MethodSet(methods), action: .forward(.none),
      headers: HeaderPolicy(), description: nil, line: 0, rate: rate)
  }

  private func rules(_ name: String = "api", _ rate: Rate? = nil, _ rules: [Rule]? = nil) throws -> RuleSet {
    var made = try service(name, at: "/\(name)/", upstream: "https://up.test/")
    made.rate = rate
    made.rules = rules
    return RuleSet(services: [try service("other", at: "/other/", upstream: "https://up.test/"), made], grants: [])
  }

  private func route(_ rule: Int?, service: Int = 1) -> Route {
    Route(service: service, rule: rule, credential: .none, pathStart: 0)
  }

  @Test func `T8: a rule has its own rate, the service's rate or none`() throws {
    let rules = try rules(
      "api", Self.minute, [rule("/own", .own(Self.hour)), rule("/free", .none), rule("/a"), rule("/b")])
    let limits = RateLimits(rules, after: nil)
    #expect(limits.limiter(of: route(0))?.rate == Self.hour)
    #expect(limits.limiter(of: route(1)) == nil)
    #expect(limits.limiter(of: route(2))?.rate == Self.minute)
    #expect(limits.limiter(of: route(2)) === limits.limiter(of: route(3)))
    #expect(limits.limiter(of: route(nil, service: 0)) == nil)
    #expect(limits.all.map(\.rule) == [0, nil])
    let plain = RateLimits(try self.rules("api", Self.minute), after: nil)
    #expect(plain.limiter(of: route(nil))?.rate == Self.minute)
  }

  @Test func `T8: a reload keeps the budget of a rule or service whose rate is unchanged`() throws {
    let before = RateLimits(try rules("api", Self.minute, [rule("/x", .own(Self.hour)), rule("/**")]), after: nil)
    let more = try rules("api", Self.minute, [rule("/new"), rule("/x", .own(Self.hour)), rule("/**")])
    let after = RateLimits(more, after: before)
    #expect(after.limiter(of: route(1)) === before.limiter(of: route(0)), "the rule has another number")
    #expect(after.limiter(of: route(2)) === before.limiter(of: route(1)))
    let again = RateLimits(more, after: RateLimits(more, after: after))
    #expect(again.limiter(of: route(1)) === before.limiter(of: route(0)))
    for other in [
      try rules("api", Self.hour, [rule("/x", .own(Self.minute))]), try rules("renamed", Self.minute),
      try rules("api", nil, [rule("/x", .own(Self.hour), methods: ["GET"])]),
      try rules("api", nil, [rule("/y", .own(Self.hour))]),
    ] {
      let limits = RateLimits(other, after: before)
      for entry in limits.all { #expect(!before.all.contains { $0.limiter === entry.limiter }) }
      #expect(!limits.all.isEmpty)
    }
  }
}
