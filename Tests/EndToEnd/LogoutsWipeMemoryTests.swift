import TestServer
import Foundation
import ServerSupport
import TestSupport
import Testing

/// After a logout, the process has no copy of the credential's secrets, not even in locked memory (T46).
@Suite(.waits, .enabled(if: isRoot && !isSanitized, "only root reads the memory of other processes"))
struct LogoutsWipeMemory {
  enum Source: CaseIterable { case file, registry, login, loginWithThreeWorkers }

  @Test(arguments: Source.allCases)
  func `T46: after a logout, no memory of the process contains the secrets and tokens`(source: Source) throws {
    switch source {
    case .file:
      let stage = try Stage()
      try stage.start(stage.configuration(more: "control: control.sock"))
      try check(stage, [stage.canary])
    case .registry:
      let (stage, server) = try RegistryServer.stage(configuration: "control: control.sock")
      defer { withExtendedLifetime(server) {} }
      try check(stage, [stage.canary, "Bearer REGISTRY-TOKEN"], path: "/api/v2/a/manifests/1")
    case .login, .loginWithThreeWorkers:
      let stage = try TokenStage()
      stage.enableRevocation()
      try stage.start(TokenStage.person, more: stage.revocation, workers: source == .login ? 1 : 3)
      try check(stage.stage, [stage.stage.canary, TokenStage.refresh])
      stage.assertSecrets(times: 9)
    }
  }

  private func check(_ stage: Stage, _ secrets: [String], path: String = "/api/x") throws {
    for _ in 0..<9 { #expect(try stage.get(path).status == 200) }
    func isFound(_ secret: String) throws -> Bool {
      try ForeignMemory.mappings(containing: secret, in: stage.daemon!.pid, includesSecrets: true) != []
    }
    for secret in secrets { #expect(try isFound(secret), "the search finds it before the logout") }
    try stage.logOut()
    for secret in secrets { #expect(try !isFound(secret)) }
  }
}
