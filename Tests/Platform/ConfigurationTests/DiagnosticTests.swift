@testable import Configuration
import Policy
import Testing

/// What a person sees.
@Suite struct DiagnosticTests {
  private func diagnostic(_ text: String, _ place: TextLocation, _ message: String = "wrong", help: String? = nil)
    -> Diagnostic
  {
    let report = Report(file: "f.yaml", text: Array(text.utf8))
    report.error(place, message, help: help)
    return report.diagnostics()[0]
  }

  @Test func hasTheShapeThatEditorsKnow() {
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

  @Test func wholeFileHasNoLine() {
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
  func showsLinesSafely(_ text: String, _ place: TextLocation, _ expected: String) {
    #expect(diagnostic(text, place).description == "f.yaml:1:\(place.column): error: wrong\n" + expected)
  }

  @Test func cutsLongLines() {
    let text = String(repeating: "x", count: 100_000)
    let shown = diagnostic(text, TextLocation(line: 1, column: 5, length: 100_000)).sourceLine ?? ""
    #expect(shown.unicodeScalars.count == SourceText.shownColumns + 1)
    #expect(shown.hasSuffix("…"))
    #expect(diagnostic(text, TextLocation(line: 1, column: 5000, length: 1)).sourceLine == nil)
  }

  @Test(arguments: [
    TextLocation(line: 99, column: 1, length: 1), TextLocation(line: 1, column: Int.max, length: Int.max),
  ])
  func survivesPlacesThatAreNotThere(_ place: TextLocation) {
    #expect(diagnostic("a", place).description.hasPrefix("f.yaml:"))
  }

  /// libyaml's end of the stream is a line further on.
  @Test func aFileThatBreaksOffIsShownWhereItDoes() {
    guard case .failure(let errors) = Machine().read("services:\n  a: { at: /a") else {
      Issue.record("no error")
      return
    }
    let shown = errors.diagnostics.map { "\($0.line):\($0.column) \($0.sourceLine ?? "-")" }
    #expect(shown == ["2:14   •: { at: ••"])
  }

  @Test func hundredErrorsAreEnough() {
    let text = (0..<250).map { "key\($0): 1\n" }.joined()
    guard case .failure(let errors) = Machine().read(text) else {
      Issue.record("no error")
      return
    }
    #expect(errors.diagnostics.count == Report.mostErrors + 1)
    #expect(errors.diagnostics.contains { $0.message == "151 more errors are not shown" })
  }

  @Test(
    arguments: [
      ("origin", ["origins", "bearer"], "origins"), ("orgins", ["origins", "bearer"], "origins"),
      ("allowUsers", ["allow_users", "allow_groups"], "allow_users"), ("allow-user", ["allow_users"], "allow_users"),
      ("ta", ["at", "via"], "at"), ("telemetry", ["limits", "timeouts"], nil), ("", ["at"], nil), ("x", ["at"], nil),
      (String(repeating: "a", count: 10_000), ["at"], nil),
    ] as [(String, [String], String?)])
  func suggests(_ word: String, _ candidates: [String], _ expected: String?) {
    #expect(Suggestion.nearest(to: word, in: candidates) == expected)
  }

  @Test(
    arguments: [
      ("1970-01-01", 0), ("2027-01-31", 1_801_353_600), ("2000-02-29", 951_782_400),
      ("9999-12-31T23:59:60Z", 253_402_300_799),
      ("2027-01-31T12:00:00+01:00", 1_801_393_200), ("2027-01-31t12:00:00.5z", 1_801_396_800),
      ("2027-01-31 12:00:00-00:30", 1_801_398_600), ("2026-02-29", nil), ("1900-02-29", nil), ("2100-02-29", nil),
      ("2027-13-01", nil),
      ("2027-00-01", nil), ("2027-1-31", nil), ("2027-01-31T", nil), ("2027-01-31T24:00:00Z", nil),
      ("2027-01-31T12:00Z", nil),
      ("2027-01-31T12:00:00", nil), ("2027-01-31T12:00:00.Z", nil), ("2027-01-31Z", nil),
      ("2027-01-31T12:00:00Zx", nil), ("", nil),
      ("２０２７-01-31", nil), ("99999-01-01", nil),
    ] as [(String, Int64?)])
  func readsDates(_ text: String, _ seconds: Int64?) {
    #expect(CivilTime.seconds(parsing: text) == seconds)
    if let seconds { #expect(text.hasPrefix(CivilTime.day(of: seconds)) || text.contains("+01:00")) }
  }

  @Test func datesAreTheirOwnInverse() {
    for day in stride(from: Int64(0), to: 2_932_896, by: 13) {
      #expect(CivilTime.seconds(parsing: CivilTime.day(of: day * 86_400 + 4711)) == day * 86_400)
    }
  }
}
