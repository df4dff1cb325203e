import HTTP1
import Policy
import TestSupport
import Testing

@Suite struct ShadowedRulesTests {
  func shadowed(_ rules: [Rule]) throws -> [ShadowedRule] {
    RuleSet(services: [try service("w", .whole, rules: rules)], grants: []).shadowedRules()
  }

  /// Pattern and methods of each rule, and the shadowed rules with the rules that cover them.
  static let rows: [([(String, [String])], [Int: [Int]])] = [
    ([("/**", []), ("/a", [])], [1: [0]]), ([("/a", []), ("/**", [])], [:]),
    ([("/a/**", []), ("/b/**", []), ("/**", [])], [:]),
    ([("/**", ["GET"]), ("/**", [])], [:]), ([("/**", ["GET"]), ("/x", ["GET"])], [1: [0]]),
    ([("/**", ["GET"]), ("/x", ["GET", "PUT"])], [:]),
    ([("/**", ["GET"]), ("/**", ["PUT"]), ("/x", ["GET", "PUT"])], [2: [0, 1]]),
    ([("/**", ["GET"]), ("/**", []), ("/**", [])], [2: [0, 1]]),
    ([("/a*", []), ("/*b", []), ("/ab", [])], [2: [0]]), ([("/*", []), ("/**/*/*", []), ("/**", [])], [2: [0, 1]]),
    ([("/*", []), ("/*/**", []), ("/**", [])], [2: [0, 1]]),
    ([("/", []), ("/?*", []), ("/*", [])], [2: [0, 1]]), ([("/?*", []), ("/*", [])], [:]),
    ([("/a", []), ("/%61", [])], [1: [0]]), ([("/A", []), ("/a", [])], [:]),
    ([("/*.json", []), ("/a*.json", [])], [1: [0]]), ([("/a/**/b", []), ("/a/b", [])], [1: [0]]),
    ([("/a/**/b", []), ("/a/*/b", []), ("/a/*", [])], [1: [0]]),
    ([("/**", ["PURGE"]), ("/x", ["PURGE"]), ("/x", ["PURGED"])], [1: [0]]),
    ([("/repos/**", ["DELETE"]), ("/repos/*", ["DELETE"]), ("/**", [])], [1: [0]]),
    ([("/.*", []), ("/.?", [])], [1: [0]]), ([("/a%2Fb", []), ("/a%2fb", [])], [1: [0]]),
    ([("/a*", []), ("/a%20", [])], [1: [0]]),
  ]

  @Test(arguments: rows.indices) func `shadowed rules are found, with the rules that cover them`(_ row: Int) throws {
    let (lines, expected) = Self.rows[row]
    let found = try shadowed(try lines.map { try rule($0.0, $0.1) })
    #expect(Dictionary(uniqueKeysWithValues: found.map { ($0.rule, $0.by) }) == expected)
  }

  @Test func `the example path of a shadowed rule is short and plain`() throws {
    let found = try shadowed([
      rule("/**"), rule("/x/**/y*z"), rule("/*/*", ["PUT"], deny: true), rule("/.*"), rule("/a%20?", ["A"]),
    ])
    #expect(found.map(\.witnessPath) == ["/x/yz", "/a/", "/.a", "/a%20a"])
    #expect(found.map(\.witnessMethod) == ["A", "PUT", "A", "A"])
    #expect(found.map(\.service) == [0, 0, 0, 0])
  }

  @Test func `rules of other services shadow nothing`() throws {
    let set = RuleSet(
      services: [
        try service("a", .whole, rules: [rule("/**")]), try service("b", .whole, listener: 1, rules: [rule("/x")]),
        try service("c", .whole, listener: 2),
      ],
      grants: [])
    #expect(set.shadowedRules() == [])
  }

  @Test func `T63: a deny rule shadows rules that differ only in letter case, and the result says so`() throws {
    let rows: [(Rule, Rule, isShadowed: Bool, byCase: Bool)] = try [
      (rule("/Secret/**", deny: true), rule("/secret/x"), true, true),
      (rule("/secret/**", deny: true), rule("/SECRET/**"), true, true),
      (rule("/secret/**", deny: true), rule("/secret/x"), true, false),
      (rule("/secret/**", deny: true, isExact: true), rule("/Secret/x"), false, false),
      (rule("/secret/a", deny: true, isExact: true), rule("/secret/a", deny: true), false, false),
      (rule("/secret/a", deny: true), rule("/secret/A", deny: true, isExact: true), true, true),
      (rule("/secret/a"), rule("/secret/a", deny: true), false, false),
      (rule("/?b", deny: true), rule("/aB"), true, true),
      (rule("/**/K%20y", deny: true), rule("/x/k%20Y"), true, true),
    ]
    for row in rows {
      let found = try shadowed([row.0, row.1])
      let names = "\(row.0.pattern.text) \(row.1.pattern.text)"
      #expect(found.map(\.rule) == (row.isShadowed ? [1] : []), "\(names)")
      if row.isShadowed { #expect(found.first?.isByCase == row.byCase, "\(names)") }
    }
  }

  @Test func `T63: rules that differ only in letter case and act differently are found`() throws {
    let rows: [([Rule], [Int])] = try [
      ([rule("/a"), rule("/A", credential: .none)], [0, 1]), ([rule("/a"), rule("/A")], []),
      ([rule("/a"), rule("/a", credential: .none)], []), ([rule("/a", ["GET"]), rule("/A", ["PUT"], deny: true)], []),
      ([rule("/a"), rule("/A", ["PUT"], deny: true)], [0, 1]), ([rule("/a", deny: true), rule("/A")], []),
      ([rule("/a", deny: true, isExact: true), rule("/A")], [0, 1]),
      ([rule("/a", deny: true, isExact: true), rule("/A", deny: true)], []),
      ([rule("/x"), rule("/pub/**"), rule("/y"), rule("/Pub/**", deny: true)], [1, 3]),
    ]
    for (rules, expected) in rows {
      let found = RuleSet(services: [try service("w", .whole, rules: rules)], grants: []).caseVariantRules()
      #expect(found.flatMap { [$0.other, $0.rule] } == expected, "\(rules.map(\.pattern.text))")
    }
  }

  @Test func `long rule lists are checked in reasonable time, and too complex rules are skipped`() throws {
    let many = try (0..<300).map { try rule("/item\($0)/*/x") } + [rule("/item7/a/x"), rule("/item299/**")]
    let hard = try (0..<3).map { try rule("/**\($0)" + String(repeating: "?", count: 30)) } + [rule("/**a")]
    let time = try ContinuousClock().measure {
      let found = try (shadowed(many), shadowed(hard))
      #expect(found.0.map(\.rule) == [300])
      #expect(found.1.isEmpty)
    }
    #expect(time < .seconds(20 * patience))
  }

  static let pieces = ["a", "b", "A", "/", "*", "**", "**/", "?", "/*", "/**"]
  static let paths: [String] = {
    var all = ["/"]
    var last = all
    for _ in 0..<6 {
      last = last.flatMap { path in ["a", "b", "A", "/"].map { path + $0 } }
      all += last
    }
    return all
  }()

  /// Compares small rule sets with all short paths.
  @Test func `the result agrees with an exhaustive search`() throws {
    var random = SeededGenerator(state: 21)
    var (reported, unreported) = (0, 0)
    for _ in 0..<100 {
      let lines = (0..<Int.random(in: 2...4, using: &random)).map { _ in
        (
          "/" + randomText(&random, Self.pieces, upTo: 3),
          [[], ["GET"], ["PUT"], ["GET", "PUT"]].randomElement(using: &random) ?? [],
          Int.random(in: 0..<6, using: &random)
        )
      }
      guard let rules = try? lines.map({ try rule($0.0, $0.1, deny: $0.2 < 2, isExact: $0.2 == 0) }) else { continue }
      var winners: Set<Int> = []
      for path in Self.paths {
        for (method, name) in [(HTTP1.Method.get, "GET"), (.put, "PUT"), (.other, "ODD")] {
          let (path, name) = (Array(path.utf8), Array(name.utf8))
          if let winner = rules.firstIndex(where: {
            $0.methods.contains(method, name: name.span) && $0.pattern.matches(path.span)
          }) {
            winners.insert(winner)
          }
        }
        if winners.count == rules.count { break }
      }
      let set = RuleSet(services: [try service("w", .whole, rules: rules)], grants: [])
      let found = set.shadowedRules()
      #expect(found.map(\.rule) == rules.indices.filter { !winners.contains($0) }, "\(lines)")
      reported += found.count
      unreported += winners.count
      for shadow in found { try replay(shadow, set, rules) }
    }
    #expect(reported > 6 && unreported > 80, "\(reported) \(unreported)")
  }

  /// Checks a shadowed rule: its example matches, an earlier rule wins, and the named rules are enough to cover the
  /// rule.
  func replay(_ shadow: ShadowedRule, _ set: RuleSet, _ rules: [Rule]) throws {
    #expect(rules[shadow.rule].pattern.matches(shadow.witnessPath))
    #expect(rules[shadow.rule].methods.names.isEmpty || rules[shadow.rule].methods.names.contains(shadow.witnessMethod))
    switch try decide(set, shadow.witnessPath, method: shadow.witnessMethod) {
    case .route(_, let winner?, _), .refused(.denied(_, let winner)): #expect(winner < shadow.rule)
    case let other: Issue.record("\(shadow) \(other)")
    }
    #expect(shadow.by.allSatisfy { $0 < shadow.rule } && shadow.by == shadow.by.sorted())
    let alone = try shadowed(shadow.by.map { rules[$0] } + [rules[shadow.rule]])
    #expect(alone.contains { $0.rule == shadow.by.count })
  }
}
