import Credentials
import Foundation
import Redaction
import Secrets
import Settings
import TestSupport
import Testing

/// The values of a credential that are masked in responses (T33).
@Suite struct CredentialRedactionTests {
  @Test func `T33: Basic credentials are masked as pair, password and secret user name`() throws {
    let scratch = try Scratch()
    let user = try scratch.write("user", "secret-user-1")
    let password = try scratch.write("password", "swordfish:2")
    let keyring = try keyring(.basic(user: .secret(.file(user)), password: .secret(.file(password))))
    let patterns = try #require(keyring.patterns(ofGrant: 0))
    let pair = Data("secret-user-1:swordfish:2".utf8).base64EncodedString()
    for text in [pair, "swordfish:2", "secret-user-1", Data(pair.utf8).base64EncodedString()] {
      let masked = try Masked(patterns).stream([Array("<\(text)>".utf8)])
      #expect(masked.count == text.utf8.count + 2)
      #expect(!masked.dropFirst(4).dropLast(4).contains { $0 != UInt8(ascii: "*") }, "\(text)")
    }
  }

  @Test func `T33: Basic credentials with a short password are masked as pair`() throws {
    let scratch = try Scratch()
    let password = try scratch.write("password", "fish:2")
    let keyring = try keyring(.basic(user: .plain("me"), password: .secret(.file(password))))
    let patterns = try #require(keyring.patterns(ofGrant: 0))
    #expect(patterns.isIncomplete)
    for text in ["me:fish:2", "bWU6ZmlzaDoy", "me%3Afish%3a2", "6d653a666973683a32"] {
      #expect(
        try Masked(patterns).stream([Array("<\(text)> fish:2".utf8)]) == Array("<".utf8) + stars(text.utf8.count)
          + Array("> fish:2".utf8))
    }
    let inner = Array(Data("\nme:fish:2\n".utf8).base64EncodedString().utf8)
    #expect(try Masked(patterns).stream([inner]).count { $0 == UInt8(ascii: "*") } >= 10)
  }

  @Test func `T33: field names, prefixes, plain values and short values are not masked`() throws {
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

  @Test func `T33: the sent value is masked, even if the value changes during the response`() throws {
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
}

/// Masks one response with one redactor.
struct Masked {
  let redactor = Redactor()

  init(_ patterns: SecretPatterns) { redactor.begin(patterns) }

  func whole(_ text: [UInt8]) throws -> [UInt8] {
    var text = text
    try #require(redactor.redact(&text))
    return text
  }

  func stream(_ pieces: [[UInt8]]) throws -> [UInt8] {
    var output: [UInt8] = []
    for piece in pieces {
      var changed: [UInt8] = []
      let rest = try #require(redactor.redact(piece.span, changed: &changed))
      output += changed + piece[rest]
    }
    redactor.release(to: &output)
    return output
  }
}

private func stars(_ count: Int) -> [UInt8] { Array(repeating: UInt8(ascii: "*"), count: count) }
