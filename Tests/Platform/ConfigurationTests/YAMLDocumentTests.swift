@testable import Configuration
import Policy
import Settings
import Testing

/// The YAML tree, its locations, and errors that do not depend on the schema.
@Suite struct YAMLDocumentTests {
  private func read(_ bytes: [UInt8]) -> (node: YAMLNode?, messages: [String]) {
    let report = Report(file: "f", text: bytes)
    let node = YAMLDocument.read(bytes, report: report)
    return (node, report.diagnostics().map { "\($0.line):\($0.column): \($0.message)" })
  }

  private func read(_ text: String) -> (node: YAMLNode?, messages: [String]) { read(Array(text.utf8)) }

  private func text(_ node: YAMLNode) -> String {
    switch node.content {
    case .scalar(let text, let isPlain):
      (isPlain ? "" : "'") + text + "@\(node.location.line):\(node.location.column)+\(node.location.length)"
    case .sequence(let nodes): "[" + nodes.map(text).joined(separator: " ") + "]"
    case .mapping(let entries): "{" + entries.map { text($0.key) + "=" + text($0.value) }.joined(separator: " ") + "}"
    case .refused: "!"
    }
  }

  @Test(arguments: [
    ("a: b", "{a@1:1+1=b@1:4+1}"),
    ("a: 'b c'", "{a@1:1+1='b c@1:4+5}"),
    ("a:\n  - x\n  - {y: z}\n", "{a@1:1+1=[x@2:5+1 {y@3:6+1=z@3:9+1}]}"),
    ("a:", "{a@1:1+1=@1:3+1}"),
    ("a: \"\\u00e4\\n\"", "{a@1:1+1='ä\n@1:4+10}"),
    ("ä€😀: x", "{ä€😀@1:1+3=x@1:6+1}"),
    ("a: no\nb: 012\nc: ~\n", "{a@1:1+1=no@1:4+2 b@2:1+1=012@2:4+3 c@3:1+1=~@3:4+1}"),
    ("a: 1\r\nb: 2\r\n", "{a@1:1+1=1@1:4+1 b@2:1+1=2@2:4+1}"),
    ("%YAML 1.1\n---\na: b\n...\n", "{a@3:1+1=b@3:4+1}"),
    ("a: |\n  x\n  y\n", "{a@1:1+1='x\ny\n@1:4+1}"),
  ])
  func `YAML nodes have the expected values and locations`(_ yaml: String, _ expected: String) throws {
    let (node, messages) = read(yaml)
    #expect(messages == [])
    #expect(text(try #require(node)) == expected)
  }

  /// The mark changes neither the columns nor the shown text of the first line.
  @Test func `a byte order mark at the start of a file is ignored`() throws {
    let text = "limits: { fields: 64 }\nservices:\n  a: { upstream: https://a.example.com/, credential: none }\n"
    let (settings, _) = try Machine().read("\u{FEFF}" + text).get()
    #expect(settings.limits.fields == 64 && settings.rules.services.map(\.name) == ["a"])
    for wrong in ["limit: {}\n" + text, "a: [\n"] {
      #expect(diagnostics(of: "\u{FEFF}" + wrong) == diagnostics(of: wrong))
    }
    #expect(
      diagnostics(of: "\u{FEFF}\u{FEFF}" + text).map(\.message) == [
        "the file has an invisible character (U+FEFF), which is not allowed"
      ])
  }

  private func diagnostics(of text: String) -> [Diagnostic] {
    guard case .failure(let errors) = Machine().read(text) else { return [] }
    return errors.diagnostics
  }

  @Test(
    arguments: [
      ([], "0:0: the file has no configuration"),
      (Array(" \n# x\n".utf8), "0:0: the file has no configuration"),
      ([0xFF, 0xFE, 0x61, 0x00], "1:1: the file is UTF-16, but must be UTF-8"),
      (Array("a: b\nä: \u{e9}".unicodeScalars.map { UInt8($0.value) }), "2:1: the file is not valid UTF-8"),
      (Array("a: ".utf8) + [0xED, 0xA0, 0x80], "1:4: the file is not valid UTF-8"),
      (Array("a: ".utf8) + [0xC0, 0x80], "1:4: the file is not valid UTF-8"),
      (Array("a: ".utf8) + [0xF4, 0x90, 0x80, 0x80], "1:4: the file is not valid UTF-8"),
      (Array("a: x".utf8) + [0xE2, 0x82], "1:5: the file is not valid UTF-8"),
      (Array("a: x\u{0}".utf8), "1:5: the file has an invisible character (U+0000), which is not allowed"),
      (Array("a: x\u{7f}".utf8), "1:5: the file has an invisible character (U+007F), which is not allowed"),
      (Array("a: x\u{1b}[31m".utf8), "1:5: the file has an invisible character (U+001B), which is not allowed"),
      (Array("a: x\u{85}b: y".utf8), "1:5: the file has an invisible character (U+0085), which is not allowed"),
      (Array("a: x\u{2028}b: y".utf8), "1:5: the file has an invisible character (U+2028), which is not allowed"),
      (Array("a: \u{202e}x".utf8), "1:4: the file has an invisible character (U+202E), which is not allowed"),
      (Array("a: \u{feff}x".utf8), "1:4: the file has an invisible character (U+FEFF), which is not allowed"),
      (Array("a: x\rb: y".utf8), "1:6: the file has a carriage return without a line feed"),
    ] as [([UInt8], String)])
  func `empty files, invalid UTF-8 and invisible characters are refused`(_ bytes: [UInt8], _ message: String) {
    let (node, messages) = read(bytes)
    #expect(node == nil)
    #expect(messages == [message])
  }

  @Test func `a file larger than 1 MiB is refused`() {
    let comment = [UInt8](repeating: UInt8(ascii: "#"), count: YAMLDocument.maxBytes)
    #expect(read(comment).messages == ["0:0: the file has no configuration"])
    #expect(
      read(comment + [UInt8(ascii: "#")]).messages == [
        "0:0: the file has 1048577 bytes, and at most 1048576 (1 MiB) are allowed"
      ])
  }

  @Test func `a file nested more than 32 levels deep is refused`() {
    let most = YAMLDocument.maxDepth
    func nested(_ levels: Int) -> String {
      String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
    }
    #expect(read(nested(most)).messages == [])
    #expect(read(nested(most + 1)).messages == ["1:\(most + 1): the file is nested more than 32 levels deep"])
    let blocks = (0...most).map { String(repeating: " ", count: $0) + "a:\n" }.joined()
    #expect(read(blocks).messages == ["\(most + 1):\(most + 1): the file is nested more than 32 levels deep"])
    // The parser stops at the limit, also in a file of 1 MiB.
    #expect(read(String(repeating: "[", count: YAMLDocument.maxBytes)).messages.count == 1)
    #expect(read(String(repeating: "{", count: YAMLDocument.maxBytes)).messages.count == 1)
    #expect(read(String(repeating: "- ", count: YAMLDocument.maxBytes / 2)).messages.count == 1)
    #expect(read(String(repeating: "? ", count: YAMLDocument.maxBytes / 2)).messages.count == 1)
  }

  @Test func `all forbidden YAML features of a file are reported together`() {
    let text = "a: &x 1\nb: *x\nc: !!int 1\n<<: {d: e}\na: 2\n"
    #expect(
      read(text).messages == [
        "1:4: anchors (&name) are not allowed", "2:4: aliases (*name) are not allowed",
        "3:4: tags (!name) are not allowed",
        "4:1: merge keys (<<) are not allowed", "5:1: duplicate key: it is already on line 1",
      ])
  }
}
