import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// A new refresh token is stored on disk before the access token of the same response is used (T39).
@Suite(.waits) struct RefreshTokensSurviveCrashes {
  enum Moment: CaseIterable { case requested, responded, stored, reported, used }

  @Test(arguments: Moment.allCases)
  func `T39: after a kill at any moment, the next start continues with the login`(moment: Moment) throws {
    let stage = try TokenStage()
    stage.rotateRefreshTokens()
    if moment == .requested {
      let rotating = stage.tokens.onRequest.withLock { $0 }
      let pid = Guarded<pid_t>(0)
      let onRequest: @Sendable (UpstreamRequest) -> Void = { request in
        rotating?(request)
        kill(pid.withLock { $0 }, SIGKILL)
      }
      stage.tokens.onRequest.withLock { $0 = onRequest }
      try stage.start("grant: client_credentials", url: "https://localhost:1/")
      pid.withLock { $0 = stage.stage.daemon!.pid }
      try stage.stage.scratch.write("bearerd.yaml", stage.configuration(TokenStage.person), mode: 0o644)
      kill(stage.stage.daemon!.pid, SIGHUP)
      _ = stage.stage.daemon!.waitForExit()
      stage.tokens.onRequest.withLock { $0 = rotating }
    } else {
      let daemon = try stage.start(TokenStage.person)
      switch moment {
      case .requested: break
      case .responded: #expect(stage.tokens.waitForRequests(1))
      case .stored: #expect(eventually { stage.stored.contains("ROTATED-1") })
      case .reported: #expect(daemon.log.wait(for: .credentialChanged))
      case .used: #expect(try stage.stage.get().status == 200)
      }
      #expect(daemon.stop(SIGKILL) == -SIGKILL)
    }
    let isStored = stage.stored.contains("ROTATED-1")
    if moment == .stored || moment == .reported || moment == .used { #expect(isStored) }
    try stage.start(TokenStage.person)
    #expect(try stage.stage.get().status == 200)
    #expect(stage.tokens.forms.last?["refresh_token"] == (isStored ? "ROTATED-1" : stage.first))
    #expect(!stage.log.contains(.loginRequired))
  }
}
