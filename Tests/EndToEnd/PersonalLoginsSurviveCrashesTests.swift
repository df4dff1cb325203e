import TestServer
import Foundation
import ServerSupport
import TestSupport
import Testing

/// A person's login is stored on disk before it is used, so that it survives a crash of bearerd (T39).
@Suite(.waits) struct PersonalLoginsSurviveCrashes {
  private var refreshing: String { "refresh_token" }

  enum Moment: CaseIterable { case responded, stored, reported, used }

  @Test(arguments: Moment.allCases)
  func `T39: after a kill at any moment, a login that was reported is stored`(moment: Moment) throws {
    let stage = try TokenStage()
    let daemon = try stage.start(stage.device)
    let person = try Person.login(stage)
    switch moment {
    case .responded: #expect(stage.tokens.waitForRequests(2))
    case .stored: #expect(eventually { stage.stored.contains(stage.refresh) })
    case .reported: #expect(person.waitForExit() == 0)
    case .used:
      #expect(person.waitForExit() == 0)
      #expect(try stage.stage.get().status == 200)
    }
    #expect(daemon.stop(SIGKILL) == -SIGKILL)
    let isReported = person.waitForExit() == 0
    let isStored = stage.stored.contains(stage.refresh)
    #expect(isStored || !isReported && moment == .responded)
    let requested = stage.tokens.requests.count
    stage.tokens.respond(with: .token(stage.stage.canary, expiresIn: 3600))
    try stage.start(stage.device)
    let response = try stage.stage.get()
    #expect(isStored ? response.status == 200 : response.isRefused("login-required"))
    #expect(stage.tokens.requests.count == requested + (isStored ? 1 : 0))
  }

  @Test func `T39: the previous login stays stored and usable until a new login has succeeded`() throws {
    let stage = try TokenStage()
    let daemon = try stage.start(stage.device)
    let first = try Person.login(stage)
    #expect(first.waitForExit() == 0)
    let before = stage.stored
    stage.tokens.respond(with: [TokenStage.deviceResponse(), TokenStage.pending])
    let second = try Person(stage)
    #expect(second.sees("waiting: "))
    #expect(try stage.stage.get().status == 200, "meanwhile the token from before goes out")
    #expect(daemon.stop(SIGKILL) == -SIGKILL)
    #expect(second.waitForExit() == 69 && second.text.contains("ended before it answered"), "\(second.text)")
    #expect(stage.stored == before)
    stage.assertLogin([first, second], times: 1)
  }
}
