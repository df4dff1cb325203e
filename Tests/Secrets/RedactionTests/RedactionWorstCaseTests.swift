import Redaction
import TestSupport
import Testing

/// The worst case of a search (T33). Each byte costs at most as many steps as the patterns have bytes, even if the
/// upstream knows the secret. A search with backtracking would exceed the time limit of this suite.
@Suite(.timeLimit(.minutes(2 * Int(patience)))) struct RedactionWorstCaseTests {
  static let values = [
    String(repeating: #"\"#, count: 200), String(repeating: "%", count: 200), String(repeating: "%25", count: 60),
    String(repeating: "&amp;", count: 40), String(repeating: #"\u005c"#, count: 30), String(repeating: "+", count: 200),
    String(repeating: #"%5c\u0025&#37;\\"#, count: 12), String(repeating: "a", count: 200),
    String(repeating: #"\u002b+"#, count: 25),
  ]
  private static let newline = UInt8(ascii: "\n")

  @Test func `T60: expensive searches count as steps, and plain words do not`() throws {
    func steps(_ pieces: [[UInt8]]) throws -> Int {
      let redactor = Redactor()
      redactor.begin(try Masked.patterns(of: "sk-live_9f8e7d6c5b4a/39281706"))
      let before = redactor.steps
      for piece in pieces {
        var changed: [UInt8] = []
        _ = redactor.redact(piece.span, changed: &changed)
      }
      return redactor.steps - before
    }
    let words = repeated("the quick brown fox ", bytes: 65_536)
    #expect(try steps([words]) < 1_000)
    #expect(try steps(words.prefix(1_000).map { [$0] }) > 20_000)
    #expect(try steps([repeated("sk-live_9f8e", bytes: 65_536)]) > 60_000)
  }

  @Test(arguments: values)
  func `T33: a value of escape characters is masked in every encoding and mixture of encodings`(value: String) throws {
    let patterns = try Masked.patterns(of: value)
    for (name, form) in Forms(value).all {
      let text = Array("<".utf8) + form + Array(">".utf8)
      let expected = Array("<".utf8) + stars(form.count) + Array(">".utf8)
      #expect(try Masked(patterns).whole(text) == expected, "\(name)")
      let split = form.count / 3
      #expect(try Masked(patterns).stream([Array(text[...split]), Array(text[(split + 1)...])]) == expected, "\(name)")
    }
    let oracle = SecretOracle(Array(value.utf8))
    var random = SeededGenerator(state: 11)
    for _ in 0..<20 {
      var form: [UInt8] = []
      var index = 0
      while index < value.utf8.count, let spelling = oracle.spellings(at: index).randomElement(using: &random) {
        form += spelling.text
        index += spelling.advance
      }
      let text = Array("<".utf8) + form + Array(">".utf8)
      #expect(
        try Masked(patterns).stream([text]) == Array("<".utf8) + stars(form.count) + Array(">".utf8),
        "\(String(decoding: form, as: UTF8.self))")
    }
  }

  @Test(arguments: values)
  func `T33: a response that nearly repeats the secret is searched in bounded time`(value: String) throws {
    let patterns = try Masked.patterns(of: value)
    // The text never contains the complete secret, so that no match ends the search early.
    for form in Forms(value).all.map(\.1) {
      let part = form.dropLast(form.count / 8 + 1)
      var text: [UInt8] = []
      while text.count < 1200 { text += part + [Self.newline] }
      #expect(try Masked(patterns).stream([text]).count == text.count)
      let bytes = text.prefix(500).map { [$0] }
      #expect(try Masked(patterns).stream(bytes).count == bytes.count)
    }
  }

  @Test(arguments: [#"\"#, "%", "&", "+"])
  func `T33: a secret of one repeated character is masked at every split`(character: String) throws {
    for (count, stride) in [(40, 1), (200, 41)] {
      let patterns = try Masked.patterns(of: String(repeating: character, count: count))
      let text = Array("-".utf8) + Array(String(repeating: character, count: 2 * count + 5).utf8) + [Self.newline]
      let expected = Array("-".utf8) + stars(2 * count + 5) + [Self.newline]
      for split in Swift.stride(from: 0, through: text.count, by: stride) {
        let pieces = [Array(text[..<split]), Array(text[split...])]
        #expect(try Masked(patterns).stream(pieces) == expected, "\(count) at \(split)")
      }
      #expect(try Masked(patterns).stream(text.map { [$0] }) == expected, "\(count), byte by byte")
    }
  }

  @Test func `T33: a secret that may have started in two positions is masked from the first position`() throws {
    let patterns = try Masked.patterns(of: #"\\\\abcdefgh"#)
    let text = Array((String(repeating: #"\"#, count: 8) + "abcdefgh-").utf8)
    #expect(try Masked(patterns).stream([text]) == stars(16) + [UInt8(ascii: "-")])
  }
}
