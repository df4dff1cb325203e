import Foundation
import Policy
import TestSupport
import Testing

/// T12: no path that we let out is read by a URL parser as one that we have not judged.
@Suite struct PathTests {
  private struct Answer: Decodable {
    let host: String
    let path: String
    /// nil: not UTF-8, where the parser wants it to be.
    let decoded: String?
    let normalised: String?
    let resolved: String?
  }

  private static let pieces = [
    "a", "b", "/", "/", "//", "/a", "%2F", "%2f", ";", ";a=1", "%3B", "%3b", "%61", "%2561", "%252F", "%252e", ".",
    "..",
    "/..", "/.", "%2e", "%2E", "$", "%24", "%20", ".a", "%25", "%", "%00", "\\", "%5c", "@", ":", "é", "%C3%A9", "%FF",
    "?",
    "?a/../b", "#", "%23", "%3F", "|", "^", "`", "{", "~", "'", "!", "*", "(", ",", "=", "+", "&", "[", "%5B", "x:80",
    "\t",
    " ",
  ]

  private static let targets: [CanonicalTarget] = {
    var random = SeededGenerator(state: 21)
    var targets: [CanonicalTarget] = []
    while targets.count < 20_000 {
      var target = CanonicalTarget()
      let written = "/" + randomText(&random, pieces, upTo: 8)
      if (try? target.read(latin1(written).span)) != nil { targets.append(target) }
    }
    return targets
  }()

  @Test(.enabled(if: OtherPrograms.python != nil, "`make differential` runs this"))
  func `Python reads a path in one of the ways that the rules decide`() throws {
    try check(OtherPrograms.python, "paths.py")
  }

  @Test(.enabled(if: OtherPrograms.node != nil, "`make differential` runs this, where there is Node"))
  func `Node reads a path in one of the ways that the rules decide`() throws {
    try check(OtherPrograms.node, "paths.mjs")
  }

  @Test(.enabled(if: OtherPrograms.go != nil, "`make differential` runs this, where there is Go"))
  func `Go reads a path in one of the ways that the rules decide`() throws {
    try check(OtherPrograms.go, "paths.go")
  }

  @Test(.enabled(if: OtherPrograms.nginx != nil, "`make differential` runs this, where there is nginx"))
  func `nginx reads a path in one of the ways that the rules decide`() throws {
    try check(OtherPrograms.nginx, "paths_nginx.py")
  }

  private func check(_ program: String?, _ script: String) throws {
    let answers: [Answer] = try OtherPrograms.answers(
      program, script, Self.targets.map { text($0.path) + text($0.query) })
    let differences = zip(Self.targets, answers).compactMap { difference($0, $1) }
    #expect(differences.isEmpty, "\(differences.count) of \(answers.count): \(differences.prefix(10))")
  }

  private func difference(_ target: CanonicalTarget, _ answer: Answer) -> String? {
    let path = text(target.path)
    let judged = Set([path] + target.readings.map { text($0) })
    if answer.host != "x" { return "\(path) is read as the authority \(answer.host)" }
    if answer.path != path { return "\(path) is read as \(answer.path)" }
    if let decoded = answer.decoded, !judged.contains(escaped(decoded)) { return "\(path) is decoded to \(decoded)" }
    if let normalised = answer.normalised {
      // Keeps two slashes at the start, and none at the end: neither is another path to anybody.
      let read = escaped(normalised.replacing(/^\/\//, with: "/"))
      let ends = Set(judged.map { $0.count > 1 ? $0.replacing(/\/$/, with: "") : $0 })
      if !ends.contains(read) { return "\(path) is normalised to \(normalised)" }
    }
    if let resolved = answer.resolved, !(path.hasPrefix("//") ? networkPaths(path) : judged).contains(resolved) {
      return "\(path) is resolved to \(resolved)"
    }
    return nil
  }

  /// What rules judge besides of a path that may be taken for `//authority/path`: by RFC 3986, and by the WHATWG; and without
  /// the parameters of its last segment, which `urlparse` cuts off.
  private func networkPaths(_ path: String) -> Set<String> {
    let strict = path.dropFirst(2).drop { $0 != "/" }
    let lenient = path.drop { $0 == "/" }.drop { $0 != "/" }
    let paths = [String(strict), String(lenient), lenient.isEmpty ? "/" : ""]
    // As it is to Go, where three slashes begin no authority.
    return Set(paths + paths.map { $0.replacing(/;[^\/]*$/, with: "") } + [path])
  }

  /// Decoded once; written as a canonical path would be that means it.
  private func escaped(_ decoded: String) -> String {
    latin1(decoded).map { byte in
      let isPlain =
        byte < 0x80
        && (UnicodeScalar(byte).properties.isAlphabetic || "0123456789/-._~!$&'()*+,;=:@".utf8.contains(byte))
      return isPlain
        ? String(UnicodeScalar(byte)) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
    }.joined()
  }
}
