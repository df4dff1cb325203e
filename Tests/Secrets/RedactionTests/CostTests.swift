import Redaction
import TestSupport
import Testing

/// What a credential costs that is looked for in an answer (T60): as much as that has bytes.
@Suite struct CostTests {
  @Test(arguments: searches + pieces)
  func `T60: whatever looks for a credential looks at the bytes of an answer a bounded number of times`(
    walker: Walker
  ) throws {
    #expect(try walker.complaint() == nil, "\(walker)")
  }

  private static let secret = "sk-live_9f8e7d6c5b4a/39281706+fedcba9876543210"

  /// Of a secret as it is: no two places of it are alike.
  private static let texts: [(String, String)] = [
    ("words", "the quick brown fox "), ("its beginning", String(secret.dropLast(4)) + " "), ("its first bytes", "sk-l"),
    ("escapes", "%73%6b%2d"), ("nearly all of it escaped", "s%6b%2Dlive_9f8e7d6c5b4a%2f39281706%2b "),
    ("all of it", secret + " "),
    ("references", "&#115;&#107;&#45;"), ("backslashes", "\\u0073\\u006b"), ("open escapes", "sk%sk&sk\\"),
  ]

  private static let searches: [Walker] = texts.map { name, text in
    Walker("SecretPatterns", "an answer of \(name)", upTo: 65_536, nanoseconds: 400) { count in
      let patterns = try Masked.patterns(of: secret)
      let bytes = repeated(text, bytes: count)
      return {
        let redactor = Redactor()
        redactor.begin(patterns)
        var changed: [UInt8] = []
        _ = redactor.redact(bytes.span, changed: &changed)
      }
    }
  }

  private static let pieces: [Walker] = texts.map { name, text in
    // A turn of the loop ends after so many steps, so this is what one turn has of them.
    Walker("Redactor", "an answer in single bytes, of \(name)", upTo: 11_000) { count in
      let patterns = try Masked.patterns(of: secret)
      let bytes = repeated(text, bytes: count)
      return {
        let redactor = Redactor()
        redactor.begin(patterns)
        let before = redactor.steps
        for index in bytes.indices where redactor.steps &- before < 16_384 {
          var changed: [UInt8] = []
          _ = redactor.redact(bytes.span.extracting(index..<(index + 1)), changed: &changed)
        }
      }
    }
  }
}
