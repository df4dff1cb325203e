import TestServer
import Foundation
import ServerSupport
import TestSupport
import Testing

/// A person's login is on disk before anything goes out with it, and outlives whatever ends bearerd (T39).
@Suite(.waits) struct LoginsOfPersonsSurvive {
  private func login(_ stage: TokenStage, _ answer: TokenServer.Answer? = nil) throws -> Person {
    stage.tokens.answers([TokenStage.deviceAnswer(), answer ?? stage.granted])
    return try Person(stage)
  }

  private var refreshing: String { "refresh_token" }

  enum Moment: CaseIterable { case answered, onDisk, told, used }

  @Test(arguments: Moment.allCases)
  func `T39: whenever it is killed, a login is there or was not promised`(moment: Moment) throws {
    let stage = try TokenStage()
    let daemon = try stage.start(stage.device)
    let person = try login(stage)
    switch moment {
    case .answered: #expect(stage.tokens.waitForRequests(2))
    case .onDisk: #expect(eventually { stage.stored.contains(stage.refresh) })
    case .told: #expect(person.ends() == 0)
    case .used:
      #expect(person.ends() == 0)
      #expect(try stage.stage.get().status == 200)
    }
    #expect(daemon.stop(SIGKILL) == -SIGKILL)
    let isPromised = person.ends() == 0
    let isOnDisk = stage.stored.contains(stage.refresh)
    #expect(isOnDisk || !isPromised && moment == .answered)
    let asked = stage.tokens.requests.count
    stage.tokens.answers(.token(stage.stage.canary, expiresIn: 3600))
    try stage.start(stage.device)
    let answer = try stage.stage.get()
    #expect(isOnDisk ? answer.status == 200 : answer.isRefused("login-required"))
    #expect(stage.tokens.requests.count == asked + (isOnDisk ? 1 : 0))
  }

  @Test func `T39: the one before stays until the new one is there`() throws {
    let stage = try TokenStage()
    let daemon = try stage.start(stage.device)
    let first = try login(stage)
    #expect(first.ends() == 0)
    let before = stage.stored
    stage.tokens.answers([TokenStage.deviceAnswer(), TokenStage.pending])
    let second = try Person(stage)
    #expect(second.sees("waiting: "))
    #expect(try stage.stage.get().status == 200, "meanwhile the token from before goes out")
    #expect(daemon.stop(SIGKILL) == -SIGKILL)
    #expect(second.ends() == 69 && second.text.contains("ended before it answered"), "\(second.text)")
    #expect(stage.stored == before)
    stage.assertLogin([first, second], times: 1)
  }
}
