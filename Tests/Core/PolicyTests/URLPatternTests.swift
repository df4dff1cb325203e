import HTTP1
import Policy
import TestSupport
import Testing

@Suite struct URLPatternTests {
  /// Pattern, path below the base, and whether the path matches.
  static let rows: [(String, String, Bool)] = [
    ("item", "item", true), ("/item", "item", true), ("/item", "items", false), ("/item", "item/", false),
    ("/item", "shop/item", false), ("/*", "a", true), ("/*", "", true), ("/*", "a/", false), ("/*", "a/b", false),
    ("/*z", "abz", true), ("/*z", "ab/z", false), ("/*/z", "a/z", true), ("/*/z", "z", false), ("/*/z", "a/z/", false),
    ("/*/z", "a/b/z", false), ("/u/*/mail", "u/7/mail", true), ("/u/*/mail", "u/mail", false),
    ("/u/*/mail", "u//mail", true), ("/*m*/q", "m/q", true), ("/*m*/q", "amb/q", true), ("/*m*/q", "amb/c/q", false),
    ("/**", "", true), ("/**", "a", true), ("/**", "a/b/c", true), ("/p/**/q", "p/q", true), ("/p/**/q", "p/1/q", true),
    ("/p/**/q", "p/1/2/q", true), ("/p/**/q", "p1/2/q", false), ("/p/**/q", "p/1/2q", false), ("/p/**", "p/", true),
    ("/p/**", "p", false), ("/p/**", "pq", false), ("/**/*", "a", true), ("/**/*", "a/b", true), ("/**/*", "a/", true),
    ("/**m**", "a/bmc/d", true), ("/**m**", "a/b", false), ("/?", "a", true), ("/?", "", false), ("/?", "/", false),
    ("/?", "ab", false), ("/??", "ab", true), ("/??", "a/", false), ("/r/?*", "r/", false), ("/r/?*", "r/x", true),
    ("/r/?*", "r/xy", true), ("/a.b", "a.b", true), ("/a.b", "axb", false), ("/a+b", "a+b", true),
    ("/a+b", "aab", false), ("/a(b)", "a(b)", true), ("/$x", "$x", true),
    // an escape is one character, and no literal matches a part of an escape
    ("/?", "%20", true), ("/???", "%20", false), ("/*0", "%20", false), ("/*0", "%200", true), ("/%20", "%20", true),
    // escapes in a pattern become canonical
    ("/%61dmin/**", "admin/x", true), ("/a%2fb", "a%2Fb", true), ("/a%2fb", "a/b", false), ("/a%2Ab", "a*b", true),
    ("/a%2Ab", "axb", false), ("/a%3Fb", "a%3Fb", true), ("/a%3Fb", "axb", false),
    // adjacent stars
    ("/***", "a/b", true), ("/**/**", "", true), ("/**/**/a", "a", true), ("/**/**/a", "b/c/a", true),
    ("/a/**/b/**/c", "a/b/c", true), ("/a/**/b/**/c", "a/x/b/y/z/c", true), ("/a/**/b/**/c", "a/x/y/c", false),
    ("/a/**/b", "a1/2/3/b", false), ("/a/**/b*", "a/b/bc", true), ("/x/?*", "x/o", true), ("/x/?*", "x/", false),
  ]

  @Test(arguments: rows) func `patterns match exactly their paths`(_ pattern: String, _ path: String, _ matches: Bool)
    throws
  {
    #expect(try URLPattern(parsing: pattern).matches("/" + path) == matches)
  }

  @Test(arguments: rows) func `patterns match the same in a rule, and the query does not matter`(
    _ pattern: String, _ path: String, _ matches: Bool
  ) throws {
    let rules = RuleSet(services: [try service(rules: [rule(pattern), rule("/**", deny: true)])], grants: [])
    for query in ["", "?", "?x=1", "?x=/item/2", "?q=/../%2e"] {
      let outcome = try decide(rules, "/s/" + path + query)
      // if another reading (`//` as `/`, `%2F` as `/`, an escaped star) is denied, the request is refused
      let isPlain = try canonical("/s/" + path).readings.isEmpty
      if isPlain { #expect(outcome == (matches ? .route(0, 0, .inject(0)) : .refused(.denied(service: 0, rule: 1)))) }
      if !matches { #expect(outcome != .route(0, 0, .inject(0))) }
    }
  }

  static let refused = [
    "", "https://api.example.com*", "https://api.example.com**", "https://*.example.com/**", "//evil.test/x", "a:b",
    "/../x", "/x/..", "/./x", "/.", "/%2e%2e/x", "/.%2E/x", "/**/../x", "..", "/x#frag", "/a\\b", "/x%00y",
    "/x%0d%0ay", "/x\ny", "/%", "/%2", "/%zz", "/a[b]", "/x|y", "/{id}", "/a b", "/straße", "/a?x=1", "/a?name=*",
    "/*" + String(repeating: "a", count: 120),
  ]

  @Test(arguments: refused) func `malformed patterns are refused`(_ pattern: String) {
    #expect(throws: PolicySyntaxError.self) { try URLPattern(parsing: pattern) }
  }

  @Test func `a pattern keeps its text as configured`() throws {
    #expect(try URLPattern(parsing: "a/%2f*").text == "/a/%2f*")
    #expect(try URLPattern(parsing: "/x/**").text == "/x/**")
    #expect(throws: Never.self) { try URLPattern(parsing: "/" + String(repeating: "a", count: 5000) + "/**") }
    #expect(throws: Never.self) { try URLPattern(parsing: "/..a/.b/c../...") }
  }

  @Test func `the error for unescaped characters suggests the escaped pattern`() {
    #expect { try URLPattern(parsing: "/straße/{id}") } throws: {
      ($0 as? PolicySyntaxError)?.message.contains("/stra%C3%9Fe/%7Bid%7D") == true
    }
  }

  /// A backtracking regular expression engine would take years.
  @Test(.timeLimit(.minutes(5))) func `patterns with many stars take linear time`() throws {
    let pattern = try URLPattern(parsing: "/" + String(repeating: "*a**", count: 29) + "b")
    let path = "/" + String(repeating: "a", count: 4_000)
    #expect(!pattern.matches(path))
    #expect(pattern.matches(path + "b"))
  }

  @Test func `the matcher agrees with a backtracking matcher`() throws {
    var random = SeededGenerator(state: 1)
    var matched = 0
    for _ in 0..<20_000 {
      let pattern = "/" + randomText(&random, ["a", "b", "/", "*", "**", "**/", "?", "."], upTo: 7)
      let path = "/" + randomText(&random, ["a", "b", "/", "."], upTo: 7)
      guard let compiled = try? URLPattern(parsing: pattern) else { continue }
      let expected = backtrack(Array(pattern)[...], Array(path)[...])
      #expect(compiled.matches(path) == expected, "\(pattern) \(path)")
      if expected { matched += 1 }
    }
    #expect(matched > 1000)
  }

  func backtrack(_ pattern: ArraySlice<Character>, _ path: ArraySlice<Character>) -> Bool {
    guard let first = pattern.first else { return path.isEmpty }
    if pattern.starts(with: "**/") {
      let rest = pattern.dropFirst(3)
      if backtrack(rest, path) { return true }
      return path.indices.contains { path[$0] == "/" && backtrack(rest, path[($0 + 1)...]) }
    }
    if pattern.starts(with: "**") {
      let rest = pattern.dropFirst(2)
      return (path.startIndex...path.endIndex).contains { backtrack(rest, path[$0...]) }
    }
    if first == "*" {
      let end = path.firstIndex(of: "/") ?? path.endIndex
      return (path.startIndex...end).contains { backtrack(pattern.dropFirst(), path[$0...]) }
    }
    guard let character = path.first, first == "?" ? character != "/" : first == character else { return false }
    return backtrack(pattern.dropFirst(), path.dropFirst())
  }
}

func randomText(_ random: inout SeededGenerator, _ pieces: [String], upTo count: Int) -> String {
  (0..<Int.random(in: 0...count, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
}
