import Redaction
import TestSupport
import Testing

/// The CPU time for searching a response for a credential (T60).
@Suite struct CostTests {
  @Test(arguments: searches + pieces)
  func `T60: searching a response for a credential takes time proportional to the number of bytes`(
    walker: Walker
  ) throws {
    #expect(try walker.complaint() == nil, "\(walker)")
  }

  private static let secret = "sk-live_9f8e7d6c5b4a/39281706+fedcba9876543210"

  /// Texts that resemble the secret in different ways.
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
    // A turn of the event loop ends after 16,384 steps.
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
