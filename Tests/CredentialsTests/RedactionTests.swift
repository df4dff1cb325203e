import Credentials
import Foundation
import TestSupport
import Testing

/// What of an answer is masked (T33), against an oracle that looks at everything, at every place.
@Suite struct RedactionTests {
  static let token = "CANARY-x7Kq/9+dE3_vT=5~mZ"

  // MARK: forms

  @Test(arguments: [
    token, "plainTokenOfLettersAndDigits0123456789", #"p"a\s<s>w&o'rd +/=é€😀"#, "eight888", "ÿ~!()*;,?:@&=+$#[]",
  ])
  func `T33: every form of a value is masked, whole and alone`(value: String) throws {
    let patterns = try Masked.patterns(of: value, asPassword: true)
    for (name, form) in Forms(value).all {
      for (before, after) in [("", ""), ("{\"token\":\"", "\"}\n"), ("x", "x")] {
        // Between the same texts: nothing else of them may change.
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
        // One character at each border may hold bits of both.
        #expect(masked.count { $0 == UInt8(ascii: "*") } >= Self.token.utf8.count * 4 / 3 - 2)
      }
    }
  }

  @Test func `T33: of Basic the pair, the password and a user that is secret are masked`() throws {
    let scratch = try Scratch()
    let user = try scratch.write("user", "secret-user-1")
    let password = try scratch.write("password", "swordfish:2")
    let keyring = try keyring(.basic(user: .secret(.file(user)), password: .file(password)))
    let patterns = try #require(keyring.patterns(ofGrant: 0))
    let pair = Data("secret-user-1:swordfish:2".utf8).base64EncodedString()
    for text in [pair, "swordfish:2", "secret-user-1", Data(pair.utf8).base64EncodedString()] {
      let masked = try Masked(patterns).stream([Array("<\(text)>".utf8)])
      #expect(masked.count == text.utf8.count + 2)
      #expect(!masked.dropFirst(4).dropLast(4).contains { $0 != UInt8(ascii: "*") }, "\(text)")
    }
  }

  @Test func `T33: what is no secret stays: names, prefixes and plain values of a credential, and short ones`() throws {
    let scratch = try Scratch()
    let short = try scratch.write("short", "1234567")
    let long = try scratch.write("long", "a-long-secret-value")
    let keyring = try keyring(
      .headers([
        HeaderTemplate(name: "X-Organisation", prefix: "Organisation ", value: .plain("organisation-of-mine")),
        HeaderTemplate(name: "X-Short", prefix: "", value: .secret(.file(short))),
        HeaderTemplate(name: "X-Long", prefix: "Prefix ", value: .secret(.file(long))),
      ]))
    let patterns = try #require(keyring.patterns(ofGrant: 0))
    #expect(patterns.isIncomplete)
    let text =
      "X-Organisation: Organisation organisation-of-mine 1234567 Prefix a-long-secret-value a-long-secret-valu\n"
    let expected = text.replacing("a-long-secret-value", with: "*******************")
    #expect(try Masked(patterns).stream([Array(text.utf8)]) == Array(expected.utf8))
  }

  // MARK: splits

  @Test func `T33: it is masked at every split in two, and in three`() throws {
    let patterns = try Masked.patterns(of: Self.token)
    for (name, form) in Forms(Self.token).all {
      let text = Array("before ".utf8) + form + Array(" after, and so on until the end of all patterns".utf8)
      let expected = Array("before ".utf8) + stars(form.count) + text[(7 + form.count)...]
      for first in 0...text.count {
        #expect(
          try Masked(patterns).stream([Array(text[..<first]), Array(text[first...])]) == expected, "\(name) \(first)")
        let second = min(text.count, first + 1 + first % 13)
        let three = [Array(text[..<first]), Array(text[first..<second]), Array(text[second...])]
        #expect(try Masked(patterns).stream(three) == expected, "\(name) \(first) \(second)")
      }
      #expect(try Masked(patterns).stream(text.map { [$0] }) == expected, "\(name), byte by byte")
    }
  }

  @Test(arguments: ["abababab", "aaaaaaaaa", "xyzxyzxyzxy", "+/+/+/+/+/", token])
  func `T33: random streams in random pieces are masked as the oracle does`(value: String) throws {
    let patterns = try Masked.patterns(of: value)
    let forms = Forms(value).all.map(\.1)
    var random = Seeded(state: UInt64(value.utf8.reduce(7) { $0 &* 31 &+ UInt64($1) }))
    for round in 0..<400 {
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
      var pieces: [[UInt8]] = []
      var rest = text[...]
      while !rest.isEmpty {
        let most = [2, 9, 70, 500].randomElement(using: &random) ?? 1
        let piece = rest.prefix(Int.random(in: 1...most, using: &random))
        pieces.append(Array(piece))
        rest = rest.dropFirst(piece.count)
      }
      let expected = oracle(text, forms)
      #expect(try Masked(patterns).stream(pieces) == expected, "round \(round)")
      // With what is held back released now and then: what is whole never shows more than its first seven bytes.
      let released = try Masked(patterns).stream(pieces) { Bool.random(using: &random) }
      #expect(released.count == text.count)
      for form in forms {
        for place in places(of: form, in: text) {
          let shown = released[place].count { $0 != UInt8(ascii: "*") || form.allSatisfy { $0 == UInt8(ascii: "*") } }
          #expect(shown < 8, "round \(round)")
        }
      }
      guard released.count == text.count else { return }
    }
  }

  // MARK: what is held back

  @Test func `T33: only what could become a secret is held back, and a line's end never is`() throws {
    let redactor = Redactor()
    redactor.begin(try Masked.patterns(of: Self.token))
    for text in ["data: CANARY\n\n", "an end like CANARX", "CANARY-x7Kq/9+dE3_vT=5~mZ", "x"] {
      var changed: [UInt8] = []
      let bytes = Array(text.utf8)
      let rest = try #require(redactor.redact(bytes.span, changed: &changed))
      #expect(changed.count + rest.count == bytes.count && !redactor.isHolding, "\(text)")
    }
    var changed: [UInt8] = []
    let bytes = Array("an end like CANARY-".utf8)
    #expect(redactor.redact(bytes.span, changed: &changed) == 0..<12)
    #expect(redactor.isHolding)
    // Seven bytes may be an accident; eight are none.
    redactor.release(to: &changed)
    #expect(changed == Array("CANARY-".utf8) && !redactor.isHolding)
    changed = []
    let more = Array("x7".utf8)
    #expect(redactor.redact(more.span, changed: &changed) == 2..<2)
    redactor.release(to: &changed)
    #expect(changed == Array("**".utf8))
    changed = []
    let last = Array("Kq/9+dE3_vT=5~mZ and on".utf8)
    let rest = try #require(redactor.redact(last.span, changed: &changed))
    #expect(changed + last[rest] == Array("**************** and on".utf8))
  }

  @Test func `T33: a value that changes while an answer comes is looked for as it was`() throws {
    let scratch = try Scratch()
    let file = try scratch.write("token", "the-first-value-1")
    let keyring = try keyring(.bearer(.file(file)))
    let redactor = Redactor()
    redactor.begin(keyring.patterns(ofGrant: 0))
    try scratch.write("token", "the-second-value-2")
    #expect(keyring.reload(grant: 0))
    var text = Array("the-first-value-1 the-second-value-2".utf8)
    #expect(redactor.redact(&text))
    #expect(text == Array("***************** the-second-value-2".utf8) && redactor.count == 1)
    redactor.begin(keyring.patterns(ofGrant: 0))
    #expect(redactor.redact(&text) && text.suffix(4) == Array("****".utf8))
  }

  @Test func `T33: without a value nothing passes`() {
    let redactor = Redactor()
    redactor.begin(nil)
    var text: [UInt8] = [1]
    #expect(!redactor.redact(&text))
    var changed: [UInt8] = []
    #expect(redactor.redact(text.span, changed: &changed) == nil && changed.isEmpty)
  }
}
