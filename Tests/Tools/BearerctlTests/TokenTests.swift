import Foundation
import TestSupport
import Testing

@Suite struct TokenTests {
  @Test
  func `T53: token prints only a new token to standard output, and a usable line with its hash`() throws {
    let scratch = try Scratch()
    let (one, other) = (try Run("token", "ci"), try Run("token", "ci"))
    for run in [one, other] {
      #expect(run.status == 0)
      let token = run.output.trimmingCharacters(in: .newlines)
      #expect(token.wholeMatch(of: /bearerd_[A-Za-z0-9_-]{43}/) != nil)
      let line = try #require(run.errors.split(separator: "\n").first { $0.contains("clients:") })
      #expect(!run.errors.contains(token))
      let file = try scratch.write(
        "bearerd.yaml", "listeners:\n  main:\n    allow_users: [\(getuid())]\n\(line)\nservices: {}\n", mode: 0o644)
      #expect(try Run("check", file).status == 0)
      let hashed = try TestSupport.run(
        ["sh", "-c", "printf '%s\\n' \(token) | \(Run.binary) token ci --hash"], environment: [:])
      #expect(hashed.status == 0 && line.contains(hashed.output.trimmingCharacters(in: .newlines)))
    }
    #expect(one.output != other.output)
  }

  @Test(arguments: ["", "s3cret", "bearerd_s3cret", "Bearer s3cret"])
  func `T53: token --hash refuses other text without printing the text`(_ input: String) throws {
    let run = try TestSupport.run(
      ["sh", "-c", "printf '%s' '\(input)' | \(Run.binary) token ci --hash"], environment: [:])
    #expect(run.status == 1 && run.output.isEmpty)
    #expect(!run.errors.contains("s3cret"))
    #expect(run.errors == (try golden("token-hash-refused.txt", for: run.errors)))
    #expect(try Run("token", "two words").status == 2)
  }
}
