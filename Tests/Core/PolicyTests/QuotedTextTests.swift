import Policy
import Testing

@Suite struct QuotedTextTests {
  static let rows: [(String, String)] = [
    ("plain é 😀", "\"plain é 😀\""), ("a\nb", "\"a\\u{a}b\""), ("\u{1b}[31m", "\"\\u{1b}[31m\""),
    ("\u{7f}\u{85}", "\"\\u{7f}\\u{85}\""), ("a\u{2028}b\u{2029}", "\"a\\u{2028}b\\u{2029}\""),
    ("a\u{202e}b\u{200d}", "\"a\\u{202e}b\\u{200d}\""),
    (String(repeating: "a", count: 80), "\"" + String(repeating: "a", count: 80) + "\""),
    (String(repeating: "a", count: 81), "\"" + String(repeating: "a", count: 80) + "…\""),
  ]

  @Test(arguments: rows)
  func `text from outside is quoted in one line, and harmless to terminals`(_ text: String, _ shown: String) {
    #expect(quoted(text) == shown)
  }

  @Test func `the error for a pattern with a line separator is one line`() {
    let refusal = #expect(throws: PolicySyntaxError.self) { try URLPattern(parsing: "/f\u{2028}g") }
    #expect(refusal?.message.unicodeScalars.contains { !$0.isHarmless } == false)
  }
}
