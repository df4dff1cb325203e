import Foundation
import TestSupport
import Testing

/// docs/security/threats.md names, for each threat, the tests that hold its defence. This holds that table.
@Suite struct SecurityTableTests {
  @Test func `every threat has its row, once and in order`() throws {
    #expect(try Row.all().map(\.id) == Array(1...68))
  }

  @Test func `a defence that is there names a test, and every status is a known one`() throws {
    for row in try Row.all() {
      #expect(["now", "partly", "planned"].contains(row.status), "T\(row.id): \(row.status)")
      #expect(row.status == "planned" || !row.tests.isEmpty, "T\(row.id) names no test")
      #expect(row.status != "now" || !row.defence.contains("planned"), "T\(row.id) is not whole yet")
    }
  }

  @Test func `every test that is named exists`() throws {
    let files = try TestFile.all()
    for row in try Row.all() {
      for test in row.tests {
        #expect(files.contains { $0.has(test) }, "T\(row.id): \(test)")
      }
    }
  }

  /// `swift test --filter T21` has to find it.
  @Test func `a defence that is there has a test whose name begins with its id`() throws {
    let files = try TestFile.all()
    for row in try Row.all() where row.status != "planned" {
      let suites = files.filter { file in row.tests.contains(where: file.has) }
      #expect(suites.contains { $0.testedThreats.contains(row.id) }, "T\(row.id): none in \(row.tests)")
    }
  }

  @Test(
    arguments: [
      ("@Test func `T1: x`() {", [1]), ("  func `T2 T35: what T4 is`(", [2, 35]), ("func `T54 client_head: x`()", [54]),
      ("func `of T3: x`()", []), ("func T1() {", []), ("func `T21`()", [21]), ("func `T21a: x`()", []),
    ] as [(String, Set<Int>)])
  func `ids are found where a test's name begins with them`(_ text: String, _ ids: Set<Int>) {
    #expect(TestFile(path: "Tests/A/B.swift", text: text).testedThreats == ids)
  }

  /// Whoever writes the test of a defence that was only planned comes by here.
  @Test func `what is only planned has no test that the table does not know of`() throws {
    let files = try TestFile.all()
    for row in try Row.all() where row.status == "planned" {
      for file in files where file.threats.contains(row.id) {
        #expect(row.tests.contains(where: file.has), "T\(row.id) is tested in \(file.path)")
      }
    }
  }

  @Test(
    arguments: [
      ("// T1: x", [1]), ("/// (T2, T35)", [2, 35]), ("`T17 T26: x`", [17, 26]),
      ("AF_INET6 INT8 T69 T0 xT1 T1x T_1", []),
      ("\"2026-01-31T23:59:60Z\"", []), ("func T1() {}", [1]),
    ] as [(String, Set<Int>)])
  func `threats are found where they are named`(_ text: String, _ ids: Set<Int>) {
    #expect(TestFile(path: "Tests/A/B.swift", text: text).threats == ids)
  }
}

/// `| T1 | **Name.** What it is. | What stands against it. | now | `Folder.Suite`, `Folder.Other` |`
private struct Row {
  let id: Int
  let defence: String
  let status: String
  /// As `swift test --filter` takes them.
  let tests: [String]

  static func all() throws -> [Row] {
    try contents(of: "docs/security/threats.md").split(separator: "\n").filter { $0.hasPrefix("| T") }.map { line in
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      try #require(cells.count == 5, "\(line)")
      let id = try #require(Int(cells[0].dropFirst()), "\(line)")
      return Row(
        id: id, defence: cells[2], status: cells[3],
        tests: cells[4].matches(of: /`([^`]+)`/).map { String($0.1) })
    }
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

  /// - Parameter test: `TLSTests.PinTests`: a suite of a folder.
  func has(_ test: String) -> Bool {
    let parts = test.split(separator: ".")
    guard parts.count == 2, path.contains("/\(parts[0])/") else { return false }
    return text.contains(" struct \(parts[1]) ") || text.hasPrefix("struct \(parts[1]) ")
      || text.contains("\nstruct \(parts[1]) ")
  }

  /// Of the ids with which names of tests begin: `T1`, or `T2 T35`.
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
