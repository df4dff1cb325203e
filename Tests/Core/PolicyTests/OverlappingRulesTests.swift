import HTTP1
import Policy
import TestSupport
import Testing

@Suite struct OverlappingRulesTests {
  private static let segments = ["a", "b", "c", "*", "**", "a*", "?"]
  private static let methods = [[], ["GET"], ["POST"], ["GET", "POST"]]

  @Test(arguments: 0..<4 as Range<UInt64>)
  func `T19: if rules overlap, only the first matching rule decides`(_ seed: UInt64) throws {
    var generator = SeededGenerator(state: seed)
    var decided = 0
    for _ in 0..<60 {
      let rules = try (0..<Int.random(in: 2...5, using: &generator)).map { _ in try random(&generator) }
      let set = RuleSet(services: [try service(rules: rules)], grants: [])
      let shadowed = Set(set.shadowedRules().map(\.rule))
      for path in Self.paths {
        for method in ["GET", "POST"] {
          let first = rules.firstIndex { rule in
            (rule.methods.names.isEmpty || rule.methods.names.contains(method))
              && Self.matches(Array(rule.pattern.text), Array(path))
          }
          let (winners, outcome) = try play(set, "/s" + path, method)
          #expect(winners == (first.map { [$0] } ?? []), "\(rules.map(\.pattern.text)) \(method) \(path)")
          #expect(outcome == first.map { .route(0, $0, .inject(0)) } ?? .refused(.noRule(service: 0)))
          if let first {
            decided += 1
            #expect(!shadowed.contains(first), "\(rules.map(\.pattern.text)): \(first) can match \(path)")
          }
        }
      }
    }
    #expect(decided > 400)
  }

  private func random(_ generator: inout SeededGenerator) throws -> Rule {
    let pattern = (0..<Int.random(in: 1...3, using: &generator)).map { _ in
      "/" + (Self.segments.randomElement(using: &generator) ?? "a")
    }.joined()
    let methods = Self.methods.randomElement(using: &generator) ?? []
    return try rule(pattern, methods)
  }

  /// Returns the rules that won according to the trace, and the decision.
  private func play(_ set: RuleSet, _ target: String, _ method: String) throws -> (winners: [Int], Outcome) {
    var trace: [RuleVerdict]? = []
    let name = Array(method.utf8)
    let known = PolicyTests.methods.first { $0.0 == method }?.1 ?? .other
    do throws(PolicyRefusal) {
      _ = try set.decide(admittedOnce, method: known, methodName: name.span, target: read(target), trace: &trace)
    } catch {}
    return ((trace ?? []).filter { $0.outcome == .won }.map(\.rule), try decide(set, target, method: method))
  }

  private let admittedOnce: AdmittedRequest

  init() throws { admittedOnce = try admitted() }

  private func read(_ target: String) throws(PolicyRefusal) -> CanonicalTarget {
    var read = CanonicalTarget()
    try read.read(Array(target.utf8).span)
    return read
  }

  /// Paths with only one reading.
  private static let paths: [String] = {
    let names = ["a", "b", "ab", "c"]
    let two = names.flatMap { one in names.map { "/\(one)/\($0)" } }
    return names.map { "/" + $0 } + two + two.flatMap { two in names.map { "\(two)/\($0)" } }
  }()

  /// Matches by exhaustive search, without code of the product.
  private static func matches(_ pattern: [Character], _ path: [Character]) -> Bool {
    guard let first = pattern.first else { return path.isEmpty }
    if pattern.starts(with: Array("**/")) {
      let rest = Array(pattern.dropFirst(3))
      if matches(rest, path) { return true }
      return path.indices.contains { path[$0] == "/" && matches(rest, Array(path[($0 + 1)...])) }
    }
    if pattern.starts(with: Array("**")) {
      return (0...path.count).contains { matches(Array(pattern.dropFirst(2)), Array(path[$0...])) }
    }
    if first == "*" {
      let end = path.firstIndex(of: "/") ?? path.count
      return (0...end).contains { matches(Array(pattern.dropFirst()), Array(path[$0...])) }
    }
    guard let next = path.first, first == next || (first == "?" && next != "/") else { return false }
    return matches(Array(pattern.dropFirst()), Array(path.dropFirst()))
  }
}
