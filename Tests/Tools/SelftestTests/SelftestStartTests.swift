import Foundation
import TestSupport
import Testing

/// Requirements of a self-test: a temporary directory, and a readable configuration.
@Suite struct SelftestStartTests {
  @Test
  func `the self-test names an unusable TMPDIR`() throws {
    let scratch = try Scratch()
    let file = try scratch.write(
      "bearerd.yaml", configuration("address: localhost:7070, allow_users: [\(getuid())]"), mode: 0o644)
    let run = try Run("selftest", "--config", file, environment: ["TMPDIR": "\(scratch.path)/none"])
    #expect(run.status == 71)
    let errors = scratch.plain(run.errors)
    #expect(errors == (try golden("selftest-temporary.txt", for: errors)))
  }

  @Test(.enabled(if: getuid() == 0, "other users are for root"))
  func `root can use a configuration that another user owns`() throws {
    let scratch = try Scratch()
    try scratch.write("theirs/own.token", "THEIR-own-secret")
    // A user's own file may have no allow_users.
    let text = configuration("address: localhost:7070")
    let file = try scratch.write("theirs/bearerd.yaml", text)
    for path in ["", "/own.token", "/bearerd.yaml"] { chown(scratch.path + "/theirs" + path, 12_345, 12_345) }
    let run = try Run("selftest", "none", "--config", file)
    #expect(run.status == 2)
    for (user, status) in [("12345", Int32(0)), ("0", 1)] {
      let explained = try Run("explain", "GET", "/api/x", "--user", user, "--config", file)
      #expect(explained.status == status && explained.errors == "", "\(explained)")
    }
    // Other users must not be able to write the file.
    chmod(file, 0o602)
    let writable = try Run("explain", "GET", "/api/x", "--config", file)
    chmod(file, 0o600)
    chown(scratch.path + "/theirs", 12_346, 12_346)
    let wrongOwner = try Run("explain", "GET", "/api/x", "--config", file)
    #expect(writable.status == 2 && wrongOwner.status == 2)
    let errors = scratch.plain([run, writable, wrongOwner].map(\.errors).joined(separator: "\n"))
    #expect(errors == (try golden("selftest-other-owner.txt", for: errors)))
  }

  private func configuration(_ listener: String) -> String {
    """
    listeners: { main: { \(listener) } }
    credentials:
      token: { origins: [https://api.example.com], bearer: { file: own.token } }
    services:
      api: { upstream: https://api.example.com/, credential: token }

    """
  }
}
