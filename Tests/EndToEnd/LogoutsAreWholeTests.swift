import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// Whenever the process is killed, there is the whole login afterwards, or none (T39, T46).
@Suite(.waits) struct LogoutsAreWhole {
  enum Moment: CaseIterable {
    case asked, afterSomeTime, withTheNewFileBesideTheOld, whileItIsGivenBack, afterTheFirst, answered
  }

  private enum Login { case whole, ended }

  /// What the disk holds has to be one of the two, and the next start does what it says.
  private func check(_ stage: TokenStage, _ moment: Moment) throws -> Login {
    let stored = stage.stored
    let lines = stored.split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.count == 5 && lines[4].isEmpty, "\(moment): \(lines.count) lines")
    let login: Login = lines.count == 5 && lines[3] == "logged_out" ? .ended : .whole
    if login == .whole { #expect(stored.hasSuffix("\nrefresh_token \(TokenStage.refresh)\n"), "\(moment)") }
    stage.revokes()
    let asked = stage.tokens.requests.count
    try stage.start(TokenStage.person, more: stage.revocation)
    let answer = try stage.stage.get()
    switch login {
    case .whole:
      #expect(answer.status == 200, "\(moment): \(answer.text)")
      #expect(stage.tokens.forms.last?["refresh_token"] == TokenStage.refresh, "\(moment)")
    case .ended:
      #expect(answer.isRefused("login-required"), "\(moment): \(answer.text)")
      #expect(stage.tokens.requests.count == asked, "\(moment)")
    }
    #expect(!stage.log.contains(.tokenFailed), "\(moment)")
    return login
  }

  @Test(arguments: Moment.allCases)
  func `T46: whenever it is killed, there is the whole login or none`(moment: Moment) throws {
    for delay in moment == .afterSomeTime ? [0, 200, 500, 900, 1_500, 3_000, 6_000, 12_000] as [UInt32] : [0] {
      let stage = try TokenStage()
      let (pid, revocations) = (Guarded<pid_t>(0), Counter())
      stage.revokes { isRevocation in
        guard isRevocation else { return }
        let number = revocations.add()
        if moment == .whileItIsGivenBack && number == 0 || moment == .afterTheFirst && number == 1 {
          kill(pid.withLock { $0 }, SIGKILL)
        }
      }
      let daemon = try stage.start(TokenStage.person, more: stage.revocation)
      pid.withLock { $0 = daemon.pid }
      #expect(try stage.stage.get().status == 200)
      if moment == .withTheNewFileBesideTheOld {
        // What a crash between writing and renaming leaves.
        let end = stage.stored.replacing("refresh_token \(TokenStage.refresh)", with: "logged_out")
        #expect(daemon.stop(SIGKILL) == -SIGKILL)
        try stage.stage.scratch.write("canary.login.new", end)
        #expect(try check(stage, moment) == .whole)
        continue
      }
      let asking = try LocalClient(unix: stage.stage.scratch.path + "/control.sock")
      try asking.send("logout canary\n")
      switch moment {
      case .asked, .withTheNewFileBesideTheOld: kill(daemon.pid, SIGKILL)
      case .afterSomeTime:
        usleep(delay)
        kill(daemon.pid, SIGKILL)
      case .whileItIsGivenBack, .afterTheFirst: break
      case .answered:
        while try !asking.isAtEnd() { try asking.drain() }
        kill(daemon.pid, SIGKILL)
      }
      #expect(daemon.waitForExit() == -SIGKILL)
      let login = try check(stage, moment)
      switch moment {
      case .whileItIsGivenBack, .afterTheFirst, .answered:
        #expect(login == .ended, "\(moment): what is given back is not kept")
      case .asked, .afterSomeTime, .withTheNewFileBesideTheOld: break
      }
    }
  }
}
