import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// A refresh token that is on its way when the daemon ends, or its configuration changes, is stored, and what comes after
/// goes on with it (T68).
@Suite(.waits) struct RenewalsOutliveTheirEnd {
  /// A server that takes each refresh token once, and revokes all of them when one comes twice (RFC 9700 section 4.14.2). Its
  /// answers wait for `mayAnswer`.
  private final class StrictServer: Sendable {
    let isAsked = Gate()
    let mayAnswer = Gate()
    private let state: Guarded<(newest: String?, count: Int, underWay: Int, most: Int)>

    init(_ stage: TokenStage) {
      state = Guarded((stage.first, 0, 0, 0))
      let canary = stage.stage.canary
      stage.tokens.onDecision.withLock {
        $0 = { [self] request in
          let next: String? = state.withLock { state in
            state.underWay += 1
            state.most = max(state.most, state.underWay)
            guard let newest = state.newest, request.form["refresh_token"] == newest else {
              state.newest = nil
              return nil
            }
            state.count += 1
            state.newest = "ROTATED-\(state.count)"
            return state.newest
          }
          isAsked.open()
          #expect(mayAnswer.pass())
          state.withLock { $0.underWay -= 1 }
          return next.map { .token(canary, expiresIn: 3600, refresh: $0) } ?? .error(400, "invalid_grant")
        }
      }
    }

    var isRevoked: Bool { state.withLock { $0.newest == nil } }
    var most: Int { state.withLock(\.most) }
  }

  private func stored(_ stage: TokenStage) -> String {
    (try? String(contentsOfFile: stage.store, encoding: .utf8)) ?? ""
  }

  @Test(arguments: [1, 2])
  func `T68: SIGTERM waits for an answer that is on its way, and stores it`(workers: Int) throws {
    let stage = try TokenStage()
    let server = StrictServer(stage)
    defer { server.mayAnswer.open(times: 9) }
    let daemon = try stage.start(TokenStage.person, workers: workers)
    #expect(server.isAsked.pass())
    kill(daemon.pid, SIGTERM)
    #expect(daemon.log.wait(for: .stopping))
    server.mayAnswer.open(times: 9)
    #expect(daemon.waitForExit() == 0)
    #expect(stored(stage).contains("ROTATED-1"))
    try stage.start(TokenStage.person, workers: workers)
    #expect(try stage.stage.get().status == 200)
    #expect(stage.tokens.forms.map { $0["refresh_token"] } == [stage.first, "ROTATED-1"])
    #expect(!server.isRevoked && server.most == 1)
    stage.assertSecrets(times: 1)
  }

  @Test func `T68: a second SIGTERM, and the end of the drain, wait for nothing`() throws {
    for more in ["", "limits: { drain: 100ms }\n"] {
      let stage = try TokenStage()
      let server = StrictServer(stage)
      defer { server.mayAnswer.open(times: 9) }
      let daemon = try stage.stage.start(stage.configuration(TokenStage.person) + more)
      #expect(server.isAsked.pass())
      kill(daemon.pid, SIGTERM)
      #expect(daemon.log.wait(for: .stopping))
      if more.isEmpty { kill(daemon.pid, SIGTERM) }
      #expect(daemon.waitForExit() == 0)
      #expect(!stored(stage).contains("ROTATED"))
    }
  }

  @Test(arguments: [1, 2])
  func `T68: another configuration of the same login waits for the answer, and goes on with it`(workers: Int) throws {
    let stage = try TokenStage()
    let server = StrictServer(stage)
    defer { server.mayAnswer.open(times: 9) }
    try stage.start(TokenStage.person, workers: workers)
    #expect(server.isAsked.pass())
    try stage.stage.reload(stage.configuration(TokenStage.person, more: ", scope: [b]", workers: workers))
    try stage.stage.reload(stage.configuration(TokenStage.person, more: ", scope: [c]", workers: workers))
    server.mayAnswer.open(times: 9)
    #expect(try stage.stage.get().status == 200)
    #expect(stage.tokens.forms.map { $0["refresh_token"] } == [stage.first, "ROTATED-1"])
    #expect(stage.tokens.forms.map { $0["scope"] } == [nil, "c"])
    #expect(stored(stage).contains("ROTATED-2"))
    #expect(!server.isRevoked && server.most == 1)
    stage.assertSecrets(times: 1)
  }

  @Test func `T68: a logout while an answer of an earlier configuration is on its way stays`() throws {
    let stage = try TokenStage()
    let server = StrictServer(stage)
    defer { server.mayAnswer.open(times: 9) }
    try stage.start(TokenStage.person)
    #expect(server.isAsked.pass())
    try stage.stage.reload(stage.configuration(TokenStage.person, more: ", scope: [b]"))
    let logout = Guarded<String?>(nil)
    let isDone = DispatchGroup()
    nonisolated(unsafe) let asked = stage
    DispatchQueue(label: "logout").async(group: isDone) {
      let said = try? asked.stage.logOut()
      logout.withLock { $0 = said.map { "\($0)" } ?? "failed" }
    }
    #expect(try eventually { try stage.stage.get().isRefused("login-required") })
    server.mayAnswer.open(times: 9)
    isDone.wait()
    #expect(stored(stage).contains("logged_out"), "\(stored(stage))")
    #expect(try stage.stage.get().isRefused("login-required"))
    stage.assertSecrets(times: 0)
  }
}
