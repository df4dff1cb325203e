import Policy
import TestSupport
import Testing

/// How upstream servers read a path, according to their documentation and independent of bearerd's code.
enum UpstreamReader: CaseIterable {
  case verbatim, rfc3986, whatwg, decodedSlashes, decoded, decodedThenRemoved, nginx, tomcat, spring, cutAfterDecoding,
    cutTwice, cgi, cutLast, mergedThenCut, windows, windowsOnce

  func read(_ path: String) -> String {
    switch self {
    case .verbatim: path
    case .rfc3986: removeDots(unreserved(path))
    case .whatwg: removeDots(path.replacing("\\", with: "/").replacing("%2e", with: ".").replacing("%2E", with: "."))
    case .decodedSlashes: removeDots(path.replacing("%2F", with: "/").replacing("%2f", with: "/"))
    case .decoded: decode(path)
    case .decodedThenRemoved: removeDots(decode(path))
    case .nginx: removeDots(merge(decode(path)))
    case .tomcat: removeDots(merge(decode(cut(path))))
    case .spring: decode(cut(merge(path)))
    case .cutAfterDecoding: removeDots(cut(decode(path)))
    case .cutTwice: removeDots(cut(decode(cut(path))))
    case .cgi: merge(cut(decode(path)))
    case .cutLast: cutLast(path)
    case .mergedThenCut: cut(merge(path))
    case .windows: removeDots(merge(decode(path).replacing("\\", with: "/")))
    case .windowsOnce: path.replacing("%5C", with: "/")
    }
  }

  private func decode(_ path: String) -> String {
    var bytes: [UInt8] = []
    var rest = Array(path.utf8)[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16),
        rest.count >= 2
      {
        bytes.append(value)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private func unreserved(_ path: String) -> String {
    ["%61": "a", "%62": "b", "%2e": ".", "%2E": "."].reduce(path) { $0.replacing($1.key, with: $1.value) }
  }

  private func merge(_ path: String) -> String {
    path.reduce(into: "") { if $1 != "/" || $0.last != "/" { $0.append($1) } }
  }

  private func cut(_ path: String) -> String {
    path.split(separator: "/", omittingEmptySubsequences: false).map { String($0.prefix { $0 != ";" }) }.joined(
      separator: "/")
  }

  /// Python's `urlparse`.
  private func cutLast(_ path: String) -> String { path.replacing(/;[^\/]*$/, with: "") }

  /// RFC 3986 §5.2.4.
  private func removeDots(_ path: String) -> String {
    var output: [Substring] = []
    let segments = path.split(separator: "/", omittingEmptySubsequences: false)
    for (index, segment) in segments.enumerated() {
      let isLast = index == segments.count - 1
      switch segment {
      case ".": if isLast { output.append("") }
      case "..":
        if output.count > 1 { output.removeLast() }
        if isLast { output.append("") }
      default: output.append(segment)
      }
    }
    return output.joined(separator: "/")
  }
}

@Suite struct UpstreamReadingsTests {
  static let pathPieces = [
    "a", "b", "/", "/", "//", "/a", "/b", "%2F", "%2f", ";", ";a", "%3B", "%3b", "%61", "%2561", "%252F", "%252e", ".",
    "..", "/..", "%2e", "%2E", "/.", "$", "%24", "%20", ".a", "%5C", "%5c",
    "[", "é",
  ]
  static let patternPieces = ["a", "b", "/", "/a", "/b", "*", "**", "/**", "/*", "**/", "$", ".a"]

  /// Returns the action of the first rule that matches a path as an upstream reads it, by exhaustive search.
  func reference(_ rules: [(String, Rule.Action)], _ path: String) -> Rule.Action {
    rules.first { URLPatternTests().backtrack(Array($0.0)[...], Array(path)[...]) }?.1 ?? .deny
  }

  @Test func `no upstream's reading of an accepted path reaches a path that the rules refuse`() throws {
    var random = SeededGenerator(state: 11)
    var (accepted, odd, ambiguous) = (0, 0, 0)
    for _ in 0..<2000 {
      var patterns: [(String, Rule.Action)] = []
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let pattern = "/" + randomText(&random, Self.patternPieces, upTo: 4)
        let action =
          [Rule.Action.deny, .forward(.inject(0)), .forward(.inject(1)), .forward(.none)].randomElement(using: &random)
          ?? .deny
        if (try? URLPattern(parsing: pattern)) != nil { patterns.append((pattern, action)) }
      }
      let rules = try patterns.map {
        Rule(
          pattern: try URLPattern(parsing: $0.0), methods: .every, action: $0.1, headers: HeaderPolicy(),
          description: nil, line: 0)
      }
      let set = RuleSet(services: [try service("w", .whole, rules: rules)], grants: [])
      for _ in 0..<40 {
        let target = "/" + randomText(&random, Self.pathPieces, upTo: 6)
        let outcome = try decide(set, target)
        if outcome == .refused(.ambiguousPath) { ambiguous += 1 }
        guard case .route(_, _, let credential) = outcome else { continue }
        accepted += 1
        let sent = try canonical(target)
        if !sent.readings.isEmpty { odd += 1 }
        for reader in UpstreamReader.allCases {
          let read = reader.read(text(sent.path))
          let action = reference(patterns, read)
          #expect(action == .forward(credential), "\(patterns) \(target) \(reader): \(read)")
          if action != .forward(credential) { return }
        }
      }
    }
    #expect(accepted > 5000 && odd > 1000 && ambiguous > 500, "\(accepted) \(odd) \(ambiguous)")
  }

  @Test func `every upstream's reading of an accepted path belongs to the same service`() throws {
    var random = SeededGenerator(state: 12)
    let mounts = ["/a/", "/b/", "/a/b/", "/"]
    let set = RuleSet(services: try mounts.map { try service($0, .path(Array($0.utf8))) }, grants: [])
    var (odd, ambiguous) = (0, 0)
    for _ in 0..<30_000 {
      let target = "/" + randomText(&random, Self.pathPieces, upTo: 6)
      let outcome = try decide(set, target)
      if outcome == .refused(.ambiguousPath) { ambiguous += 1 }
      guard case .route(let chosen, _, _) = outcome else { continue }
      let sent = try canonical(target)
      if !sent.readings.isEmpty { odd += 1 }
      for reader in UpstreamReader.allCases {
        let read = reader.read(text(sent.path))
        let reference = mounts.indices.filter { read.hasPrefix(mounts[$0]) }.max { mounts[$0].count < mounts[$1].count }
        #expect(reference == chosen, "\(target) \(reader): \(read)")
      }
    }
    #expect(odd > 1000 && ambiguous > 1000, "\(odd) \(ambiguous)")
  }
}
