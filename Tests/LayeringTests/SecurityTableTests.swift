import Foundation
import TestSupport
import Testing

/// The pages in docs/security/threats name the tests of the defense against each threat.
@Suite struct SecurityTableTests {
  @Test func `every threat has one section, and a row in the index`() throws {
    let threats = try Threat.all()
    #expect(threats.map(\.id) == Array(1...69))
    let index = try contents(of: "docs/security/threats.md")
    for threat in threats {
      let row = try #require(index.firstMatch(of: try Regex("\n\\| \\[T\(threat.id)\\]\\((.*)\n")))
      let text = String(index[row.range])
      #expect(text.contains("(threats/\(threat.page)#t\(threat.id)-"), "T\(threat.id)")
      #expect(text.hasSuffix("| \(threat.title) | \(threat.status) |\n"), "T\(threat.id): \(text)")
    }
  }

  @Test func `every implemented defense names a test, and every status is known`() throws {
    for threat in try Threat.all() {
      #expect(["now", "partly", "planned"].contains(threat.status), "T\(threat.id): \(threat.status)")
      #expect(threat.status == "planned" || !threat.tests.isEmpty, "T\(threat.id) names no test")
      #expect(threat.status != "now" || !threat.defence.contains("planned"), "T\(threat.id) is not whole yet")
    }
  }

  @Test func `every named test exists`() throws {
    let files = try TestFile.all()
    for threat in try Threat.all() {
      for test in threat.tests {
        #expect(files.contains { $0.has(test) }, "T\(threat.id): \(test)")
      }
    }
  }

  @Test func `every requirement of HTTP2 has a test`() throws {
    let files = try TestFile.all()
    let rows = try contents(of: "docs/develop/http2-requirements.md").matches(
      of: /\n\| [^|]+ \| [^|]+ \| (?:both|client|server) \| `([^`]+)`(?:: ([^\n]+))? \|(?=\n)/)
    #expect(rows.count > 80)
    for row in rows {
      let file = try #require(files.first { $0.has(String(row.1)) }, "\(row.1)")
      if let name = row.2 { #expect(file.text.contains(name), "\(file.path): \(name)") }
    }
  }

  /// So `swift test --filter T21` finds the test.
  @Test func `every implemented defense has a test whose name begins with the threat's id`() throws {
    let files = try TestFile.all()
    for threat in try Threat.all() where threat.status != "planned" {
      let suites = files.filter { file in threat.tests.contains(where: file.has) }
      #expect(suites.contains { $0.testedThreats.contains(threat.id) }, "T\(threat.id): none in \(threat.tests)")
    }
  }

  @Test(
    arguments: [
      ("@Test func `T1: x`() {", [1]), ("  func `T2 T35: what T4 is`(", [2, 35]), ("func `T54 client_head: x`()", [54]),
      ("func `of T3: x`()", []), ("func T1() {", []), ("func `T21`()", [21]), ("func `T21a: x`()", []),
    ] as [(String, Set<Int>)])
  func `ids are found at the beginning of test names`(_ text: String, _ ids: Set<Int>) {
    #expect(TestFile(path: "Tests/A/B.swift", text: text).testedThreats == ids)
  }

  /// Reminds the author of such a test to update the threat's status.
  @Test func `a planned defense has no test that its section does not name`() throws {
    let files = try TestFile.all()
    for threat in try Threat.all() where threat.status == "planned" {
      for file in files where file.threats.contains(threat.id) {
        #expect(threat.tests.contains(where: file.has), "T\(threat.id) is tested in \(file.path)")
      }
    }
  }

  @Test(
    arguments: [
      ("// T1: x", [1]), ("/// (T2, T35)", [2, 35]), ("`T17 T26: x`", [17, 26]),
      ("AF_INET6 INT8 T69 T0 xT1 T1x T_1", []),
      ("\"2026-01-31T23:59:60Z\"", []), ("func T1() {}", [1]),
    ] as [(String, Set<Int>)])
  func `threat ids are found anywhere in a test file`(_ text: String, _ ids: Set<Int>) {
    #expect(TestFile(path: "Tests/A/B.swift", text: text).threats == ids)
  }
}

/// A section in docs/security/threats: `## T1. Title`, the defense, and `**Status: now.** Tests: `Folder.Suite`, …`.
private struct Threat {
  let id: Int
  let title: String
  let page: String
  let defence: String
  let status: String
  /// Suites, as for `swift test --filter`.
  let tests: [String]

  static func all() throws -> [Threat] {
    let folder = "docs/security/threats"
    let pages = try FileManager.default.contentsOfDirectory(atPath: "\(root)/\(folder)")
    return try pages.flatMap { page in
      try contents(of: "\(folder)/\(page)").components(separatedBy: "\n## T").dropFirst().map { section in
        let heading = try #require(section.firstMatch(of: /^(\d+)\. (.+)/), "\(page): \(section)")
        let parts = section.components(separatedBy: "\n**Status: ")
        try #require(parts.count == 2, "\(page): T\(heading.1)")
        return Threat(
          id: Int(heading.1)!, title: String(heading.2), page: page, defence: parts[0],
          status: String(parts[1].prefix { $0 != "." }),
          tests: parts[1].matches(of: /`([^`]+)`/).map { String($0.1) })
      }
    }.sorted { $0.id < $1.id }
  }
}

private struct TestFile {
  let path: String
  let text: String

  static func all() throws -> [TestFile] {
    let names = try #require(FileManager.default.enumerator(atPath: "\(root)/Tests")).compactMap { $0 as? String }
    return try names.filter { $0.hasSuffix(".swift") && $0 != "LayeringTests/SecurityTableTests.swift" }
      .map { TestFile(path: "Tests/\($0)", text: try contents(of: "Tests/\($0)")) }
  }

  /// - Parameter test: folder and suite, for example `TLSTests.PinTests`.
  func has(_ test: String) -> Bool {
    let parts = test.split(separator: ".")
    guard parts.count == 2, path.contains("/\(parts[0])/") else { return false }
    return text.contains(" struct \(parts[1]) ") || text.hasPrefix("struct \(parts[1]) ")
      || text.contains("\nstruct \(parts[1]) ")
  }

  /// The threat ids at the beginning of test names: `T1`, or `T2 T35`.
  var testedThreats: Set<Int> {
    Set(
      text.matches(of: /func `((?:T[1-9][0-9]?[ :,`]+)+)/).flatMap { match in
        match.1.matches(of: /T([0-9]+)/).compactMap { Int($0.1) }
      })
  }

  var threats: Set<Int> {
    Set(
      text.matches(of: /\bT([1-9][0-9]?)\b/).compactMap { match in
        let isTime = text[..<match.range.lowerBound].last?.isNumber == true
        return isTime ? nil : Int(match.1).flatMap { $0 <= 68 ? $0 : nil }
      })
  }
}

private let root = repositoryRoot

private func contents(of file: String) throws -> String {
  try String(contentsOfFile: "\(root)/\(file)", encoding: .utf8)
}
