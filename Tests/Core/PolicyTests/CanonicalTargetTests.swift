import Policy
import TestSupport
import Testing

@Suite struct CanonicalTargetTests {
  /// Target, canonical path, query, other readings in any order.
  static let rows: [(String, String, String, [String])] = [
    ("/", "/", "", []), ("/a/b", "/a/b", "", []), ("/a/b/", "/a/b/", "", []), ("*", "", "", []),
    ("", "/", "", []), ("?x", "/", "?x", []), ("/a?", "/a", "?", []),
    ("/a?b?c=/../%2e#".dropHash, "/a", "?b?c=/../%2e", []),
    ("/a.b/..c/...", "/a.b/..c/...", "", []), ("/.well-known/x", "/.well-known/x", "", []),
    ("/!$&'()*+,=:@~_-.", "/!$&'()*+,=:@~_-.", "", []),
    // unreserved decoded, the rest in upper case, nothing else
    ("/%61%7e%5F%2d%41", "/a~_-A", "", []), ("/%e2%82%ac", "/%E2%82%AC", "", []), ("/a%20b", "/a%20b", "", []),
    ("/%2Ewell-known", "/.well-known", "", []),
    // reserved characters escaped or plain
    ("/a%2fb", "/a%2Fb", "", ["/a/b"]), ("/a%24b", "/a%24b", "", ["/a$b"]), ("/a%3fb", "/a%3Fb", "", []),
    ("/a%24%2Fb", "/a%24%2Fb", "", ["/a%24/b", "/a$/b"]),
    ("/a%23b", "/a%23b", "", []), ("/a%5bb", "/a%5Bb", "", []),
    // escaped twice
    ("/a%252fb", "/a%252fb", "", ["/a%2Fb"]), ("/a%2541", "/a%2541", "", ["/aA"]), ("/100%25", "/100%25", "", []),
    ("/%2561%24", "/%2561%24", "", ["/%2561$", "/a$"]),
    ("/a%25252f", "/a%25252f", "", ["/a%252f"]), ("/a%25%34%31", "/a%2541", "", ["/aA"]), ("/%25zz", "/%25zz", "", []),
    // slashes
    ("//", "//", "", ["/"]), ("/a//b", "/a//b", "", ["/a/b"]), ("//a", "//a", "", ["/a"]),
    ("/a///", "/a///", "", ["/a/"]),
    ("/a%2F/b", "/a%2F/b", "", ["/a//b", "/a/b"]), ("/a%2F", "/a%2F", "", ["/a/"]),
    // parameters
    ("/a;x=1/b", "/a;x=1/b", "", ["/a/b"]), ("/a;", "/a;", "", ["/a"]), ("/;/a", "/;/a", "", ["//a", "/a"]),
    ("/a%3bx", "/a%3Bx", "", ["/a;x", "/a"]), ("/a;b%2Fc", "/a;b%2Fc", "", ["/a", "/a;b/c", "/a/c"]),
    ("/a;b%3B", "/a;b%3B", "", ["/a", "/a;b;"]),
    // plain dots, as browsers remove them
    ("/.", "/", "", []), ("/./", "/", "", []), ("/a/./b", "/a/b", "", []), ("/a/.", "/a/", "", []),
    ("/./Packages", "/Packages", "", []), ("/./a/././b/.?x=/./y", "/a/b/", "?x=/./y", []),
    ("/./.a/.b.", "/.a/.b.", "", []),
    ("/.//a", "//a", "", ["/a"]), ("//./a", "//a", "", ["/a"]), ("/a/.//b", "/a//b", "", ["/a/b"]),
    ("/a;x/./b", "/a;x/b", "", ["/a/b"]), ("/a%2Fb/./c", "/a%2Fb/c", "", ["/a/b/c"]), ("/./...", "/...", "", []),
    // parameters of the last segment only, and slashes before parameters
    ("/a;x/b;y", "/a;x/b;y", "", ["/a;x/b", "/a/b"]), ("//;a/b", "//;a/b", "", ["///b", "/;a/b", "/b", "//b"]),
  ]

  @Test(arguments: rows) func reads(_ target: String, _ path: String, _ query: String, _ readings: [String]) throws {
    let read = try canonical(target)
    #expect(text(read.path) == path)
    #expect(text(read.query) == query)
    #expect(Set(read.readings.map { text($0) }) == Set(readings))
    #expect(read.readings.count == readings.count)
    if !path.isEmpty {
      let again = try canonical(path)
      #expect(again.path == read.path)
      #expect(again.readings == read.readings)
    }
  }

  static let refused: [(String, PolicyRefusal)] = [
    ("a", .badPath), ("http://h/", .badPath), ("**", .badPath), ("*?", .badPath), (" /", .badPath), ("\\a", .badPath),
    ("/a#", .fragment), ("/#", .fragment), ("/a?b#c", .fragment), ("?#", .fragment),
    ("/a\\b", .forbiddenCharacter), ("/a%5cb", .forbiddenCharacter), ("/a%5C", .forbiddenCharacter),
    ("/a b", .forbiddenCharacter), ("/a\u{7f}", .forbiddenCharacter), ("/\0", .forbiddenCharacter),
    ("/é", .forbiddenCharacter),
    ("/x%00y", .forbiddenCharacter), ("/x%0d%0ay", .forbiddenCharacter), ("/%1F", .forbiddenCharacter),
    ("/%7f", .forbiddenCharacter), ("/[a]", .forbiddenCharacter), ("/a|b", .forbiddenCharacter),
    ("/{a}", .forbiddenCharacter),
    ("/a?b c", .forbiddenCharacter), ("/a?\u{1}", .forbiddenCharacter), ("/a?é", .forbiddenCharacter),
    ("/%", .badEscape), ("/%2", .badEscape), ("/%zz", .badEscape), ("/%2g", .badEscape), ("/a%/b", .badEscape),
    ("/%u002e", .badEscape), ("/%%32e", .badEscape), ("/%?", .badEscape),
  ]

  @Test(arguments: refused) func refuses(_ target: String, _ refusal: PolicyRefusal) {
    #expect(throws: refusal) { try canonical(target) }
  }

  /// `..`, and a segment that some upstream takes for a dot segment and others do not: never repaired, always refused (T12).
  static let dotSegments = [
    "/..", "/../", "/./..", "/.././a", "/a/./../b", "/./%2e", "/%2e/./a", "/.%2Fa", "/a%2F./b", "/a%2F.", "/./.;x",
    "/.%2f.",
    "/a/../b", "/a/..", "/%2e", "/%2E%2e", "/.%2e/a", "/%2e./a", "/..;",
    "/..;x",
    "/..;x/a", "/.;/a", "/a/..;x=1;y/b", "/..%2f", "/..%2Fa", "/a%2f..%2fb", "/a%2F..", "/a/..%2f..%2fb", "/%2e%2e%2fa",
    "/..%3b", "/..%3Bx/a", "/%2e%2e%3bx", "/%252e%252e/a", "/%252e", "/a/.%252e/b", "/..%252fa", "/a%252f..",
    "/a;b%2F..",
    "/a;%2F..%2Fb", "/a;x%2f..;y", "/a//../b", "//..", "/../..//", "/a/..?x", "/..?", "/a/%2e%2e?q#".dropHash,
    "/..;/..;/a",
    "/.;a%2F.", "/%252e%252e%252f", "/a/..%255cb", "/%252e%252e%255Cb", "/%252E%252E;x",
  ]

  @Test(arguments: dotSegments) func refusesDotSegments(_ target: String) {
    #expect(throws: PolicyRefusal.dotSegment) { try canonical(target) }
  }

  @Test func keepsNothingOfTheLastTarget() throws {
    var read = CanonicalTarget()
    for target in ["/a%2Fb;c?q", "/x", "*", "/y?z", "?"] {
      try read.read(Array(target.utf8).span)
      let fresh = try canonical(target)
      #expect(read.path == fresh.path && read.query == fresh.query && read.readings == fresh.readings)
    }
  }

  @Test func readingsAreBounded() throws {
    var random = SeededGenerator(state: 7)
    var most = 0
    for _ in 0..<20_000 {
      let target = "/" + randomText(&random, ["a", "/", "//", ";", "%2F", "%3B", "%25", "2F", "3B", "%24"], upTo: 20)
      guard let read = try? canonical(target) else { continue }
      most = max(most, read.readings.count)
    }
    #expect((20...63).contains(most))
    #expect(throws: PolicyRefusal.ambiguousPath) {
      try canonical("/;b;b%2F%253B//%2F%24;//%253B%252F%24//%3B%2F/%3B%252F;b")
    }
  }

  @Test func `T60: a long path has few readings, or is refused`() throws {
    func target(_ count: Int, _ end: String) -> String { "/" + String(repeating: "x", count: count) + end }
    #expect(try canonical(target(16_000, "%2Fa")).readings.count == 1)
    #expect(try canonical(target(1_000, ";a%2Fb//c")).readings.count > 3)
    #expect(throws: PolicyRefusal.ambiguousPath) { try canonical(target(16_000, ";a%2Fb//c")) }
  }
}

extension String {
  /// For rows whose editor would otherwise see a fragment.
  fileprivate var dropHash: String { String(filter { $0 != "#" }) }
}
