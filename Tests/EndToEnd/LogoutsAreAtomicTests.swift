import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// After a kill during a logout, the stored login is either complete or logged out (T39, T46).
@Suite(.waits) struct LogoutsAreAtomic {
  enum Moment: CaseIterable {
    case requested, afterDelay, newFileWritten, duringFirstRevocation, duringSecondRevocation, responded
  }

  private enum Login { case complete, ended }

  /// Checks that the stored login is complete or logged out, and that the next start behaves accordingly.
  private func check(_ stage: TokenStage, _ moment: Moment) throws -> Login {
    let stored = stage.stored
    let lines = stored.split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.count == 5 && lines[4].isEmpty, "\(moment): \(lines.count) lines")
    let login: Login = lines.count == 5 && lines[3] == "logged_out" ? .ended : .complete
    if login == .complete { #expect(stored.hasSuffix("\nrefresh_token \(TokenStage.refresh)\n"), "\(moment)") }
    stage.enableRevocation()
    let requested = stage.tokens.requests.count
    try stage.start(TokenStage.person, more: stage.revocation)
    let response = try stage.stage.get()
    switch login {
    case .complete:
      #expect(response.status == 200, "\(moment): \(response.text)")
      #expect(stage.tokens.forms.last?["refresh_token"] == TokenStage.refresh, "\(moment)")
    case .ended:
      #expect(response.isRefused("login-required"), "\(moment): \(response.text)")
      #expect(stage.tokens.requests.count == requested, "\(moment)")
    }
    #expect(!stage.log.contains(.tokenFailed), "\(moment)")
    return login
  }

  @Test(arguments: Moment.allCases)
  func `T46: after a kill at any moment of a logout, the login is complete or ended`(moment: Moment) throws {
    for delay in moment == .afterDelay ? [0, 200, 500, 900, 1_500, 3_000, 6_000, 12_000] as [UInt32] : [0] {
      let stage = try TokenStage()
      let (pid, revocations) = (Guarded<pid_t>(0), Counter())
      stage.enableRevocation { isRevocation in
        guard isRevocation else { return }
        let number = revocations.add()
        if moment == .duringFirstRevocation && number == 0 || moment == .duringSecondRevocation && number == 1 {
          kill(pid.withLock { $0 }, SIGKILL)
        }
      }
      let daemon = try stage.start(TokenStage.person, more: stage.revocation)
      pid.withLock { $0 = daemon.pid }
      #expect(try stage.stage.get().status == 200)
      if moment == .newFileWritten {
        // The state after a crash between writing the new file and renaming it.
        let end = stage.stored.replacing("refresh_token \(TokenStage.refresh)", with: "logged_out")
        #expect(daemon.stop(SIGKILL) == -SIGKILL)
        try stage.stage.scratch.write("canary.login.new", end)
        #expect(try check(stage, moment) == .complete)
        continue
      }
      let control = try LocalClient(unix: stage.stage.scratch.path + "/control.sock")
      try control.send("logout canary\n")
      switch moment {
      case .requested, .newFileWritten: kill(daemon.pid, SIGKILL)
      case .afterDelay:
        usleep(delay)
        kill(daemon.pid, SIGKILL)
      case .duringFirstRevocation, .duringSecondRevocation: break
      case .responded:
        while try !control.isAtEnd() { try control.drain() }
        kill(daemon.pid, SIGKILL)
      }
      #expect(daemon.waitForExit() == -SIGKILL)
      let login = try check(stage, moment)
      switch moment {
      case .duringFirstRevocation, .duringSecondRevocation, .responded:
        #expect(login == .ended, "\(moment): what is given back is not kept")
      case .requested, .afterDelay, .newFileWritten: break
      }
    }
  }
}
