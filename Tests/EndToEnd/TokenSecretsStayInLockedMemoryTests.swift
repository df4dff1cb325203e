import Foundation
import ServerSupport
import TestServer
import TestSupport
import Testing

/// Codes, refresh tokens and client secrets are only in memory for secrets, which is locked and left out of core dumps
/// (T38).
@Suite(.waits, .enabled(if: isRoot && !isSanitized, "only root sees the memory of others"))
struct TokenSecretsStayInLockedMemory {
  private func assertHidden(_ secrets: [String], _ stage: TokenStage) throws {
    let pid = stage.stage.daemon!.pid
    #expect(try ForeignMemory.mappings(containing: stage.stage.scratch.path, in: pid) != [], "it can be seen")
    for secret in secrets { #expect(try ForeignMemory.mappings(containing: secret, in: pid) == []) }
  }

  @Test func `T38: the secrets of a browser login are only in memory for secrets`() throws {
    let stage = try TokenStage()
    stage.tokens.respond(with: stage.granted)
    try stage.start(stage.browser())
    let person = try Person(stage)
    let query = try person.query()
    // Later reads do not overwrite the end of such a long request.
    let padding = String(repeating: "x", count: 14_000)
    let target = "/callback?x=\(padding)&code=\(TokenStage.code)&state=\(query["state"] ?? "")"
    #expect(try stage.visit(query, target).status == 200)
    #expect(person.waitForExit() == 0)
    let verifier = try #require(stage.tokens.forms.first?["code_verifier"])
    try assertHidden([TokenStage.code, verifier, stage.refresh], stage)
    stage.assertLogin([person], times: 0)
  }

  @Test func `T38: the secrets of a device login are only in memory for secrets`() throws {
    let stage = try TokenStage()
    stage.tokens.respond(with: [TokenStage.deviceResponse(), TokenStage.pending, stage.granted])
    try stage.start(stage.device)
    let person = try Person(stage)
    #expect(person.waitForExit() == 0)
    try assertHidden([TokenStage.deviceCode, stage.refresh, stage.clientSecret], stage)
    stage.assertLogin([person], times: 0)
  }

  @Test func `T38: the secrets in a token response are only in memory for secrets`() throws {
    let stage = try TokenStage()
    let refresh = "REFRESH-" + UUID().uuidString
    stage.tokens.respond(with: .token(stage.stage.canary, expiresIn: 3600, refresh: refresh))
    try stage.start(TokenStage.person)
    #expect(try stage.stage.get().status == 200)
    try assertHidden([refresh, stage.first, stage.clientSecret], stage)
    stage.assertSecrets(times: 1)
    stage.stage.assertCanary(times: 0, as: refresh, secret: refresh)
  }
}
