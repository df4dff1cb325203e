import Foundation
import Redaction
import TestSupport
import Testing

/// Masking of responses (T33), compared with an oracle that tries every encoding at every position.
@Suite struct RedactionTests {
  static let token = "CANARY-x7Kq/9+dE3_vT=5~mZ"

  // MARK: encodings

  @Test(arguments: [
    token, "plainTokenOfLettersAndDigits0123456789", #"p"a\s<s>w&o'rd +/=é€😀"#, "eight888", "ÿ~!()*;,?:@&=+$#[]",
    #"100%25 \\ &amp; %%"#,
  ])
  func `T33: every encoding of a value is masked`(value: String) throws {
    let patterns = try Masked.patterns(of: value)
    for (name, form) in Forms(value).all {
      for (before, after) in [("", ""), ("{\"token\":\"", "\"}\n"), ("x", "x")] {
        // The text before and after the value must not change.
        let text = Array(before.utf8) + form + Array(after.utf8)
        let expected = Array(before.utf8) + stars(form.count) + Array(after.utf8)
        #expect(try Masked(patterns).whole(text) == expected, "\(name)")
        #expect(try Masked(patterns).stream([text]) == expected, "\(name)")
      }
    }
  }

  @Test func `T33: base64 of a longer text is masked at each of the three alignments`() throws {
    let patterns = try Masked.patterns(of: Self.token)
    for length in 0..<7 {
      for alphabet in [false, true] {
        let text = String(repeating: "u", count: length) + Self.token + "!!"
        var encoded = Data(text.utf8).base64EncodedString()
        if alphabet { encoded = encoded.replacing("+", with: "-").replacing("/", with: "_") }
        let masked = try Masked(patterns).stream([Array(encoded.utf8)])
        #expect(masked.count == encoded.utf8.count)
        // One character at each end may contain bits of the neighboring text.
        #expect(masked.count { $0 == UInt8(ascii: "*") } >= Self.token.utf8.count * 4 / 3 - 2)
      }
    }
  }

  @Test(arguments: [token, "$ÿx<'D\"\".€aaéÿ#FéMép😀 x😀€D", #"100%25 \\ &amp; %%"#, #"%\+&""' <>/="#])
  func `T33: a secret in mixed encodings is masked at any position`(value: String) throws {
    let patterns = try Masked.patterns(of: value)
    let oracle = SecretOracle(Array(value.utf8))
    var random = SeededGenerator(state: 5)
    for before in 0..<200 {
      var form: [UInt8] = []
      var index = 0
      while index < value.utf8.count, let spelling = oracle.spellings(at: index).randomElement(using: &random) {
        let isUpper = Bool.random(using: &random)
        form += spelling.text.enumerated().map { offset, byte in
          isUpper && spelling.digits.contains(offset) && byte >= UInt8(ascii: "a") ? byte - 32 : byte
        }
        index += spelling.advance
      }
      let text = Array(repeating: UInt8(ascii: "-"), count: before % 40) + form + [UInt8(ascii: "-")]
      let expected = Array(repeating: UInt8(ascii: "-"), count: before % 40) + stars(form.count) + [UInt8(ascii: "-")]
      #expect(try Masked(patterns).stream([text]) == expected, "\(String(decoding: form, as: UTF8.self))")
    }
  }

  // MARK: splits

  /// The second value has no byte with escapes, so that its longest encoding has the maximum length of a pattern.
  @Test(arguments: [token, "plainTokenOfLettersAndDigits0123456789"])
  func `T33: a secret is masked at every split into two or three pieces`(value: String) throws {
    let patterns = try Masked.patterns(of: value)
    for (name, form) in Forms(value).all {
      let text = Array("before ".utf8) + form + Array(" after, and so on until the end of all patterns".utf8)
      let expected = Array("before ".utf8) + stars(form.count) + text[(7 + form.count)...]
      var wrong: [Int] = []
      for first in 0...text.count {
        let second = min(text.count, first + 1 + first % 13)
        let two = [Array(text[..<first]), Array(text[first...])]
        let three = [Array(text[..<first]), Array(text[first..<second]), Array(text[second...])]
        for pieces in [two, three] where try Masked(patterns).stream(pieces) != expected { wrong.append(first) }
      }
      #expect(wrong.isEmpty, "\(name)")
      #expect(try Masked(patterns).stream(text.map { [$0] }) == expected, "\(name), byte by byte")
    }
  }

  @Test(arguments: [
    "abababab", "aaaaaaaaa", "xyzxyzxyzxy", "+/+/+/+/+/", token, "%25%25%25 &amp;", #"\\u005c\\\\\u005c"#, "😀é/€&ÿ<😀>",
  ])
  func `T33: random streams in random pieces are masked as the oracle masks them`(value: String) throws {
    let patterns = try Masked.patterns(of: value)
    let oracle = SecretOracle(Array(value.utf8))
    let forms = Forms(value).all.map(\.1)
    var random = SeededGenerator(state: UInt64(value.utf8.reduce(7) { $0 &* 31 &+ UInt64($1) }))
    // Less than half of a secret may be shown before the redactor recognizes it, and part of a character of four bytes.
    let isASCII = value.utf8.allSatisfy { $0 < 0x80 }
    let fewest = value.utf8.count + 1 - max(8, (value.utf8.count + 1) / 2) - (isASCII ? 0 : 3)
    for round in 0..<80 {
      var text: [UInt8] = []
      for _ in 0..<Int.random(in: 0..<12, using: &random) {
        let form = forms.randomElement(using: &random) ?? []
        switch Int.random(in: 0..<5, using: &random) {
        case 0: text += form
        case 1: text += form.prefix(Int.random(in: 0...form.count, using: &random))
        case 2: text += form.suffix(Int.random(in: 0...form.count, using: &random))
        case 3:
          text += (0..<Int.random(in: 0..<100, using: &random)).map { _ in UInt8.random(in: 32..<127, using: &random) }
        default: text += Array(value.utf8.prefix(Int.random(in: 0..<4, using: &random)))
        }
      }
      // No match continues after a line end.
      text.append(UInt8(ascii: "\n"))
      var pieces: [[UInt8]] = []
      var rest = text[...]
      while !rest.isEmpty {
        let most = [2, 9, 70, 500].randomElement(using: &random) ?? 1
        let piece = rest.prefix(Int.random(in: 1...most, using: &random))
        pieces.append(Array(piece))
        rest = rest.dropFirst(piece.count)
      }
      let matches = oracle.ranges(in: text)
      #expect(try Masked(patterns).stream(pieces) == text.masked(matches), "round \(round)")
      // Sometimes releases the buffered bytes.
      let released = try Masked(patterns).stream(pieces) { Bool.random(using: &random) }
      try #require(released.count == text.count)
      let shown = matches.filter { match in released[match].count { $0 == UInt8(ascii: "*") } < fewest }
      #expect(shown.isEmpty, "round \(round)")
    }
  }
}
