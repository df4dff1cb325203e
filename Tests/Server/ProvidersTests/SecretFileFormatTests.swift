import StatusModel
import TestServer
import Foundation
import Glibc
import Log
import ServerSupport
import TestSupport
import Testing

/// Contents of secret files as users and programs write them.
@Suite(.inProcess) struct SecretFileFormatTests {
  @Test(arguments: [("\"%@\"", "quotation marks"), ("API_TOKEN=%@", "NAME=value"), ("%@|x", "RFC 6750")])
  func `T43: a token inside quotation marks or other text is not sent, and the log says why`(form: String, says: String)
    throws
  {
    let stage = try Stage()
    try stage.scratch.write("canary.token", form.replacingOccurrences(of: "%@", with: stage.canary) + "\n")
    try stage.start()
    #expect(try stage.get().isRefused("credential-unavailable"))
    let reasons = stage.log.lines(of: .credentialUnavailable, ["credential": "canary"]).compactMap { $0["detail"] }
    #expect(reasons.contains { $0.contains(says) }, "\(reasons)")
    try stage.scratch.write("canary.token", stage.canary + "\r\n")
    #expect(stage.waitForSecret(version: 1))
    #expect(try stage.get().status == 200)
    stage.assertCanary(times: 1)
  }

  @Test func `T33: a Basic user name with an empty password is masked as a secret`() throws {
    let stage = try Stage { connection in
      while let request = try? connection.readRequest() {
        let shown = request.text.firstMatch(of: /\r\nAuthorization: Basic ([^\r]*)\r\n/).map { String($0.1) } ?? ""
        let user = Data(base64Encoded: shown).map { String(decoding: $0, as: UTF8.self) } ?? ""
        connection.respond("no such key: \(user) \(shown)", status: "401 Unauthorized")
      }
    }
    try stage.start(stage.configuration(credential: "basic: { user: { file: canary.token }, password: \"\" }"))
    let response = try stage.get()
    #expect(
      response.status == 401 && !response.text.contains(stage.canary) && response.text.hasPrefix("no such key: ****"))
    let pair = Data("\(stage.canary):".utf8).base64EncodedString()
    stage.assertCanary(times: 1, as: "Authorization: Basic \(pair)\r\n")
  }

  @Test(.enabled(if: geteuid() == 0, "mounts are for root"))
  func `T44: a secret that other users can read is used from a read-only mount, with one warning`() throws {
    let stage = try Stage()
    let volume = stage.scratch.path + "/secrets"
    try #require(mkdir(volume, 0o755) == 0 && mount("none", volume, "tmpfs", 0, "mode=0755") == 0)
    defer { umount2(volume, Int32(MNT_DETACH)) }
    try stage.scratch.write("secrets/token", stage.canary, mode: 0o444)
    try #require(mount("none", volume, "tmpfs", UInt(MS_REMOUNT | MS_RDONLY), "mode=0755") == 0)
    try stage.start(stage.configuration(credential: "bearer: { file: secrets/token }"))
    for _ in 0..<2 { #expect(try stage.get().status == 200) }
    let warnings = stage.log.lines(of: .configuration).filter { line in
      line.fields.contains { $0.value.contains("others can read \(volume)/token (mode 0444)") }
    }
    #expect(warnings.count == 1, "\(stage.log)")
    _ = stage.daemon!.stop()
    stage.assertCanary(times: 2)
  }
}
