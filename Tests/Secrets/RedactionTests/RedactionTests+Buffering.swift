import Foundation
import Redaction
import TestSupport
import Testing

/// Buffering of bytes that may be the start of a secret.
extension RedactionTests {
  @Test func `T33: only a possible start of the secret is buffered, and a line end never is`() throws {
    let redactor = Redactor()
    redactor.begin(try Masked.patterns(of: Self.token))
    for text in ["data: CANARY\n\n", "an end like CANARX", "CANARY-x7Kq/9+dE3_vT=5~mZ", "x"] {
      var changed: [UInt8] = []
      let bytes = Array(text.utf8)
      let rest = try #require(redactor.redact(bytes.span, changed: &changed))
      #expect(changed.count + rest.count == bytes.count && !redactor.isBuffering, "\(text)")
    }
    var changed: [UInt8] = []
    let bytes = Array("an end like CANARY-x7Kq/".utf8)
    #expect(redactor.redact(bytes.span, changed: &changed) == 0..<12)
    #expect(redactor.isBuffering)
    // Less than half of the secret may be the start of another value.
    redactor.release(to: &changed)
    #expect(changed == Array("CANARY-x7Kq/".utf8) && !redactor.isBuffering)
    changed = []
    let more = Array("9+".utf8)
    #expect(redactor.redact(more.span, changed: &changed) == 2..<2)
    redactor.release(to: &changed)
    #expect(changed == Array("**".utf8))
    changed = []
    let last = Array("dE3_vT=5~mZ and on".utf8)
    let rest = try #require(redactor.redact(last.span, changed: &changed))
    #expect(changed + last[rest] == Array("*********** and on".utf8))
  }

  @Test(arguments: ["%43%41%4E%41%52%59%2d%78%37%4B%71%2f%39%2b", "CANARY-x7Kq\\u002f9%2", "Q0FOQVJZLXg3S3EvOS"])
  func `T33: half of a secret at the end of a response is masked, in any encoding`(end: String) throws {
    let patterns = try Masked.patterns(of: Self.token)
    let text = Array("cut: \(end)".utf8)
    #expect(try Masked(patterns).stream([text]) == Array("cut: ".utf8) + stars(end.utf8.count))
    #expect(try Masked(patterns).stream(text.map { [$0] }) == Array("cut: ".utf8) + stars(end.utf8.count))
  }

  /// Tokens of the same issuer have the same start, and so has the base64 of the same user name.
  @Test func `T33: another value that starts like the secret is not masked, also at a pause or the end`()
    throws
  {
    let header = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9."
    let tokens = [
      "eyJzdWIiOiJhbGljZSIsImlhdCI6MX0.7kP3vQ0w9sT5hB1xQmZk0ZyQ3m2n1c8r6u5t4s3d2f1g",
      "eyJzdWIiOiJib2IiLCJpYXQiOjF9.c29tZXRoaW5nIGVsc2UsIGFuZCBub3QgdGhlIHNlY3JldA",
    ].map {
      header + $0
    }
    let jwt = try Masked.patterns(of: tokens[0])
    let pair = try Masked.patterns(
      of: Data("x-access-token:ghs_16C7e42F292c6912E7710c838347Ae178B4a".utf8).base64EncodedString())
    let other = Data("x-access-token:another one's password".utf8).base64EncodedString()
    let password8 = try Masked.patterns(of: "admin123")
    for (patterns, text) in [
      (jwt, tokens[1]), (jwt, header), (pair, other), (password8, "admin"), (password8, "admin12"),
    ] {
      let bytes = Array(text.utf8)
      #expect(try Masked(patterns).stream([bytes]) == bytes)
      for split in 0...bytes.count {
        let pieces = [Array(bytes[..<split]), Array(bytes[split...])]
        #expect(try Masked(patterns).stream(pieces) { true } == bytes, "\(text) \(split)")
      }
    }
  }

  @Test func `T33: without a value to search for, no byte passes`() {
    let redactor = Redactor()
    redactor.begin(nil)
    var text: [UInt8] = [1]
    #expect(!redactor.redact(&text))
    var changed: [UInt8] = []
    #expect(redactor.redact(text.span, changed: &changed) == nil && changed.isEmpty)
  }
}
