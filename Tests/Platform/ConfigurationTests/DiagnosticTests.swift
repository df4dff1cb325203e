@testable import Configuration
import Policy
import Testing

/// The text of an error as the user sees it.
@Suite struct DiagnosticTests {
  private func diagnostic(_ text: String, _ location: TextLocation, _ message: String = "wrong", help: String? = nil)
    -> Diagnostic
  {
    let report = Report(file: "f.yaml", text: Array(text.utf8))
    report.error(location, message, help: help)
    return report.diagnostics()[0]
  }

  @Test func `a diagnostic has the format that editors recognize`() {
    let diagnostic = diagnostic(
      "a:\n  bc: d\n", TextLocation(line: 2, column: 3, length: 2), help: "did you mean \"x\"?")
    #expect(
      diagnostic.description == """
        f.yaml:2:3: error: wrong
          bc: d
          ^~
        help: did you mean "x"?
        """)
  }

  @Test func `a diagnostic about the whole file has no line`() {
    #expect(diagnostic("a", .wholeFile).description == "f.yaml: error: wrong")
  }

  @Test(arguments: [
    ("\ta\u{1b}[31mb", TextLocation(line: 1, column: 2, length: 1), " a\u{FFFD}[31mb\n ^"),
    ("a\u{202e}b", TextLocation(line: 1, column: 3, length: 1), "a\u{FFFD}b\n  ^"),
    ("ab", TextLocation(line: 1, column: 3, length: 1), "ab\n  ^"),
    ("ab", TextLocation(line: 1, column: 2, length: 9), "ab\n ^"),
    ("ä😀x: y", TextLocation(line: 1, column: 3, length: 1), "ä😀x: y\n  ^"),
    ("ab\r\nc", TextLocation(line: 1, column: 1, length: 2), "ab\n^~"),
  ])
  func `a shown source line has no control characters, and the caret stays aligned`(
    _ text: String, _ location: TextLocation, _ expected: String
  ) {
    #expect(diagnostic(text, location).description == "f.yaml:1:\(location.column): error: wrong\n" + expected)
  }

  @Test func `a long source line is cut`() {
    let text = String(repeating: "x", count: 100_000)
    let shown = diagnostic(text, TextLocation(line: 1, column: 5, length: 100_000)).sourceLine ?? ""
    #expect(shown.unicodeScalars.count == SourceText.shownColumns + 1)
    #expect(shown.hasSuffix("…"))
    #expect(diagnostic(text, TextLocation(line: 1, column: 5000, length: 1)).sourceLine == nil)
  }

  @Test(arguments: [
    TextLocation(line: 99, column: 1, length: 1), TextLocation(line: 1, column: Int.max, length: Int.max),
  ])
  func `a location outside of the file does not trap`(_ location: TextLocation) {
    #expect(diagnostic("a", location).description.hasPrefix("f.yaml:"))
  }

  /// libyaml reports the end of the stream one line too late.
  @Test func `an unexpected end of the file is reported at the last line`() {
    guard case .failure(let errors) = Machine().read("services:\n  a: { at: /a") else {
      Issue.record("no error")
      return
    }
    let shown = errors.diagnostics.map { "\($0.line):\($0.column) \($0.sourceLine ?? "-")" }
    #expect(shown == ["2:14   •: { at: ••"])
  }

  @Test func `at most 100 errors are reported`() {
    let text = (0..<250).map { "key\($0): 1\n" }.joined()
    guard case .failure(let errors) = Machine().read(text) else {
      Issue.record("no error")
      return
    }
    #expect(errors.diagnostics.count == Report.maxErrors + 1)
    #expect(errors.diagnostics.contains { $0.message.hasPrefix("151 ") })
  }

  @Test(
    arguments: [
      ("origin", ["origins", "bearer"], "origins"), ("orgins", ["origins", "bearer"], "origins"),
      ("allowUsers", ["allow_users", "allow_groups"], "allow_users"), ("allow-user", ["allow_users"], "allow_users"),
      ("ta", ["at", "via"], "at"), ("telemetry", ["limits", "timeouts"], nil), ("", ["at"], nil), ("x", ["at"], nil),
      (String(repeating: "a", count: 10_000), ["at"], nil),
    ] as [(String, [String], String?)])
  func `the nearest known key is suggested for a misspelled key`(
    _ word: String, _ candidates: [String], _ expected: String?
  ) {
    #expect(Suggestion.nearest(to: word, in: candidates) == expected)
  }
}
