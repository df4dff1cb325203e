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
    for part in [
      "503 Service Unavailable, by bearerd: login-required", "authorization server: 0, connections to the API: 0",
      "https://login.example/enter", "mail is logged in: ", "mode 0600.", "Authorization: Bearer token-1-",
      "200 OK, \"You have 3 messages.\"", "Authorization: Bearer token-", "by refresh_token", "refused: 0\n",
      "bearerd kept all promises.", "Next: ",
    ] {
      #expect(run.output.contains(part), "\(part)")
    }
    #expect(!run.output.contains("\u{1B}"))
    #expect(run.output.split(separator: "\n").filter { $0.count > 80 } == [])
    #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path) == [])
  }
}
