import Foundation
import TestSupport
import Testing

@Suite struct OAuthDemoTests {
  @Test
  func `--oauth shows a login, a token and its renewal, and leaves nothing behind`() throws {
    let scratch = try Scratch()
    let run = try Run("demo", "--oauth", "--once", environment: ["TMPDIR": scratch.path])
    #expect(run.status == 0, "\(run.output)\n\(run.errors)")
    #expect(run.errors == "")
    #expect(run.output.contains("Authorization: Bearer token-1-"))
    let text = plainDemo(run.output)
    #expect(text == (try golden("demo-oauth.txt", for: text)))
    #expect(!run.output.contains("\u{1B}"))
    #expect(run.output.split(separator: "\n").filter { $0.count > 80 } == [])
    #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path) == [])
  }
}
