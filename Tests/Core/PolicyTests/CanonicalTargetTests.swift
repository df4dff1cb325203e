import HTTP1
import Policy
import TestSupport
import Testing

@Suite struct CanonicalTargetTests {
  /// Target, canonical path, query, and other readings in any order.
  static let rows: [(String, String, String, [String])] = [
    ("/", "/", "", []), ("/a/b", "/a/b", "", []), ("/a/b/", "/a/b/", "", []), ("*", "", "", []),
    ("", "/", "", []), ("?x", "/", "?x", []), ("/a?", "/a", "?", []),
    ("/a?b?c=/../%2e#".dropHash, "/a", "?b?c=/../%2e", []),
    ("/a.b/..c/...", "/a.b/..c/...", "", []), ("/.well-known/x", "/.well-known/x", "", []),
    ("/!$&'()*+,=:@~_-.", "/!$&'()*+,=:@~_-.", "", []),
    // unreserved characters are decoded, other escapes are in upper case
    ("/%61%7e%5F%2d%41", "/a~_-A", "", []), ("/%e2%82%ac", "/%E2%82%AC", "", []), ("/a%20b", "/a%20b", "", []),
    ("/%2Ewell-known", "/.well-known", "", []),
    // reserved characters, escaped or plain
    ("/a%2fb", "/a%2Fb", "", ["/a/b"]), ("/a%24b", "/a%24b", "", ["/a$b"]), ("/a%3fb", "/a%3Fb", "", []),
    ("/a%24%2Fb", "/a%24%2Fb", "", ["/a%24/b", "/a$/b"]),
    ("/a%23b", "/a%23b", "", []), ("/a%5bb", "/a%5Bb", "", []),
    // bytes that a URL must escape, with only one reading
    ("/é", "/%C3%A9", "", []), ("/файл.txt", "/%D1%84%D0%B0%D0%B9%D0%BB.txt", "", []),
    ("/a/[id].tsx", "/a/%5Bid%5D.tsx", "", []), ("/{id}", "/%7Bid%7D", "", []), ("/a|b^c`d", "/a%7Cb%5Ec%60d", "", []),
    ("/[a]//b", "/%5Ba%5D//b", "", ["/%5Ba%5D/b"]), ("/{;x}", "/%7B;x%7D", "", ["/%7B"]),
    ("/a?q=münchen", "/a", "?q=m%C3%BCnchen", []), ("/a?b[]={c}|^`", "/a", "?b%5B%5D=%7Bc%7D%7C%5E%60", []),
    ("/a?\"<>\\", "/a", "?%22%3C%3E%5C", []), ("/é?é", "/%C3%A9", "?%C3%A9", []), ("/a?%zz%5b", "/a", "?%zz%5b", []),
    // a backslash, which some servers read as a slash
    ("/a%5cb", "/a%5Cb", "", ["/a/b"]), ("/a%5C", "/a%5C", "", ["/a/"]), ("/%5C%5Ca", "/%5C%5Ca", "", ["///a", "/a"]),
    ("/a%5Cb%2Fc", "/a%5Cb%2Fc", "", ["/a/b%2Fc", "/a%5Cb/c", "/a/b/c"]), ("/a%255Cb", "/a%255Cb", "", ["/a%5Cb"]),
    ("/a%5C;x", "/a%5C;x", "", ["/a%5C", "/a/;x", "/a/"]),
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
    // single-dot segments, which are removed as by browsers
    ("/.", "/", "", []), ("/./", "/", "", []), ("/a/./b", "/a/b", "", []), ("/a/.", "/a/", "", []),
    ("/./Packages", "/Packages", "", []), ("/./a/././b/.?x=/./y", "/a/b/", "?x=/./y", []),
    ("/./.a/.b.", "/.a/.b.", "", []),
    ("/.//a", "//a", "", ["/a"]), ("//./a", "//a", "", ["/a"]), ("/a/.//b", "/a//b", "", ["/a/b"]),
    ("/a;x/./b", "/a;x/b", "", ["/a/b"]), ("/a%2Fb/./c", "/a%2Fb/c", "", ["/a/b/c"]), ("/./...", "/...", "", []),
    // parameters of the last segment only, and slashes before parameters
    ("/a;x/b;y", "/a;x/b;y", "", ["/a;x/b", "/a/b"]), ("//;a/b", "//;a/b", "", ["///b", "/;a/b", "/b", "//b"]),
  ]

  @Test(arguments: rows) func `targets are normalized, and other readings of the path are listed`(
    _ target: String, _ path: String, _ query: String, _ readings: [String]
  ) throws {
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
    ("/a\\b", .forbiddenCharacter), ("/a\"b", .forbiddenCharacter), ("/<a", .forbiddenCharacter),
    ("/a>", .forbiddenCharacter),
    ("/a b", .forbiddenCharacter), ("/a\u{7f}", .forbiddenCharacter), ("/\0", .forbiddenCharacter),
    ("/x%00y", .forbiddenCharacter), ("/x%0d%0ay", .forbiddenCharacter), ("/%1F", .forbiddenCharacter),
    ("/%7f", .forbiddenCharacter), ("/é\\", .forbiddenCharacter), ("/[%00]", .forbiddenCharacter),
    ("/a?b c", .forbiddenCharacter), ("/a?\u{1}", .forbiddenCharacter), ("/a?é\u{7F}", .forbiddenCharacter),
    ("/%", .badEscape), ("/%2", .badEscape), ("/%zz", .badEscape), ("/%2g", .badEscape), ("/a%/b", .badEscape),
    ("/%u002e", .badEscape), ("/%%32e", .badEscape), ("/%?", .badEscape),
  ]

  @Test(arguments: refused) func `malformed targets are refused with their reason`(
    _ target: String, _ refusal: PolicyRefusal
  ) {
    #expect(throws: refusal) { try canonical(target) }
  }

  /// `..`, and segments that only some servers read as dot segments: always refused (T12).
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
    "/..%5Ca", "/a%5c..", "/a%5C.%5Cb", "/%5C..%5C", "/[%5c..", "/é/..%5Cb",
    "/.;a%2F.", "/%252e%252e%252f", "/a/..%255cb", "/%252e%252e%255Cb", "/%252E%252E;x",
  ]

  @Test(arguments: dotSegments) func `dot segments that servers could read differently are refused`(_ target: String) {
    #expect(throws: PolicyRefusal.dotSegment) { try canonical(target) }
  }

  @Test func `a byte that is not UTF-8 is percent-encoded`() throws {
    var read = CanonicalTarget()
    try read.read([0x2F, 0x63, 0xE9, 0x3F, 0xFF].span)
    #expect(text(read.path) == "/c%E9" && text(read.query) == "?%FF" && read.readings.isEmpty)
  }

  @Test(arguments: [
    ("/a\\b", "backslash at byte 3 of the target (its escape is %5C)"),
    ("/\"", "quotation mark at byte 2 of the target (its escape is %22)"),
    ("/[é]<", "less-than sign at byte 6 of the target (its escape is %3C)"),
    ("/a>?\\", "greater-than sign at byte 3 of the target (its escape is %3E)"),
    ("/a b", "space at byte 3 of the target (its escape is %20)"),
    ("/x%0dy", "carriage return at byte 3 of the target (escaped as %0D)"),
    ("/%20%00", "NUL at byte 5 of the target (escaped as %00)"),
    ("/a?%00 ", "space at byte 7 of the target (its escape is %20)"),
  ])
  func `a refusal names the first forbidden character`(_ target: String, _ position: String) {
    let bytes = Array(target.utf8)
    #expect(throws: PolicyRefusal.forbiddenCharacter) { try canonical(target) }
    let found = CanonicalTarget.forbiddenCharacter(in: bytes.span)
    #expect("\(MessageFault(character: found))" == position)
  }

  @Test func `a forbidden character is found exactly if the target is refused for it`() {
    var random = SeededGenerator(state: 37)
    let pieces = ["a", "/", "%5C", "%00", "\\", "\"", "<", ">", "[", "é", " ", "\u{7F}", "?", "%41", "%0a", ";"]
    for _ in 0..<20_000 {
      let target = "/" + randomText(&random, pieces, upTo: 5)
      var refusal: PolicyRefusal?
      do throws(PolicyRefusal) {
        var read = CanonicalTarget()
        try read.read(Array(target.utf8).span)
      } catch {
        refusal = error
      }
      let found = CanonicalTarget.forbiddenCharacter(in: Array(target.utf8).span)
      if refusal == .forbiddenCharacter { #expect(found != nil, "\(target)") }
      if refusal == nil { #expect(found == nil, "\(target)") }
    }
  }

  @Test func `a reused target keeps nothing of the previous request`() throws {
    var read = CanonicalTarget()
    for target in ["/a%2Fb;c?q", "/x", "*", "/y?z", "?"] {
      try read.read(Array(target.utf8).span)
      let fresh = try canonical(target)
      #expect(read.path == fresh.path && read.query == fresh.query && read.readings == fresh.readings)
    }
  }

  @Test func `the number of readings is bounded, and a path with more is refused`() throws {
    var random = SeededGenerator(state: 7)
    var most = 0
    for _ in 0..<20_000 {
      let pieces = ["a", "/", "//", ";", "%2F", "%5C", "%3B", "%25", "2F", "3B", "%24"]
      let target = "/" + randomText(&random, pieces, upTo: 20)
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
  /// The text without `#`.
  fileprivate var dropHash: String { String(filter { $0 != "#" }) }
}
