import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// A new refresh token that arrives while the daemon exits or reloads is stored, and used afterwards (T68).
@Suite(.inProcess) struct RenewalsAreNotLost {
  /// A server that accepts each refresh token once, and revokes the login when a token is reused (RFC 9700 section
  /// 4.14.2). Responses wait for `mayRespond`.
  private final class StrictServer: Sendable {
    let isRequested = Gate()
    let mayRespond = Gate()
    private let state: Guarded<(newest: String?, count: Int, pending: Int, maxPending: Int)>

    init(_ stage: TokenStage) {
      state = Guarded((stage.first, 0, 0, 0))
      let canary = stage.stage.canary
      stage.tokens.onDecision.withLock {
        $0 = { [self] request in
          let next: String? = state.withLock { state in
            state.pending += 1
            state.maxPending = max(state.maxPending, state.pending)
            guard let newest = state.newest, request.form["refresh_token"] == newest else {
              state.newest = nil
              return nil
            }
            state.count += 1
            state.newest = "ROTATED-\(state.count)"
            return state.newest
          }
          isRequested.open()
          #expect(mayRespond.pass())
          state.withLock { $0.pending -= 1 }
          return next.map { .token(canary, expiresIn: 3600, refresh: $0) } ?? .error(400, "invalid_grant")
        }
      }
    }

    var isRevoked: Bool { state.withLock { $0.newest == nil } }
    var maxPending: Int { state.withLock(\.maxPending) }
  }

  @Test(arguments: [1, 2])
  func `T68: a stop waits for the response of a token server, and the new token is stored`(workers: Int)
    throws
  {
    let stage = try TokenStage()
    let server = StrictServer(stage)
    defer { server.mayRespond.open(times: 9) }
    let daemon = try stage.start(TokenStage.person, workers: workers)
    #expect(server.isRequested.pass())
    daemon.beginStop()
    #expect(daemon.log.wait(for: .stopping))
    server.mayRespond.open(times: 9)
    #expect(daemon.waitForExit() == 0)
    #expect(stage.stored.contains("ROTATED-1"))
    try stage.start(TokenStage.person, workers: workers)
    #expect(try stage.stage.get().status == 200)
    #expect(stage.tokens.forms.map { $0["refresh_token"] } == [stage.first, "ROTATED-1"])
    #expect(!server.isRevoked && server.maxPending == 1)
    stage.assertSecrets(times: 1)
  }

  @Test func `T68: a second stop or the end of the drain does not wait for the token server`()
    throws
  {
    for more in ["", "limits: { drain: 100ms }\n"] {
      let stage = try TokenStage()
      let server = StrictServer(stage)
      defer { server.mayRespond.open(times: 9) }
      let daemon = try stage.stage.start(stage.configuration(TokenStage.person) + more)
      #expect(server.isRequested.pass())
      daemon.beginStop()
      #expect(daemon.log.wait(for: .stopping))
      if more.isEmpty { daemon.beginStop() }
      #expect(daemon.waitForExit() == 0)
      #expect(!stage.stored.contains("ROTATED"))
    }
  }

  @Test(arguments: [1, 2])
  func `T68: after a reload, the login waits for the pending response and uses the new token`(workers: Int) throws {
    let stage = try TokenStage()
    let server = StrictServer(stage)
    defer { server.mayRespond.open(times: 9) }
    try stage.start(TokenStage.person, workers: workers)
    #expect(server.isRequested.pass())
    try stage.stage.reload(stage.configuration(TokenStage.person, more: ", scope: [b]", workers: workers))
    try stage.stage.reload(stage.configuration(TokenStage.person, more: ", scope: [c]", workers: workers))
    server.mayRespond.open(times: 9)
    #expect(try stage.stage.get().status == 200)
    #expect(stage.tokens.forms.map { $0["refresh_token"] } == [stage.first, "ROTATED-1"])
    #expect(stage.tokens.forms.map { $0["scope"] } == [nil, "c"])
    #expect(stage.stored.contains("ROTATED-2"))
    #expect(!server.isRevoked && server.maxPending == 1)
    stage.assertSecrets(times: 1)
  }

  @Test func `T68: a logout remains in effect when a pending response of an earlier configuration arrives`() throws {
    let stage = try TokenStage()
    let server = StrictServer(stage)
    defer { server.mayRespond.open(times: 9) }
    try stage.start(TokenStage.person)
    #expect(server.isRequested.pass())
    try stage.stage.reload(stage.configuration(TokenStage.person, more: ", scope: [b]"))
    let logout = Guarded<String?>(nil)
    let isDone = DispatchGroup()
    nonisolated(unsafe) let target = stage
    DispatchQueue(label: "logout").async(group: isDone) {
      let report = try? target.stage.logOut()
      logout.withLock { $0 = report.map { "\($0)" } ?? "failed" }
    }
    #expect(try eventually { try stage.stage.get().isRefused("login-required") })
    server.mayRespond.open(times: 9)
    isDone.wait()
    #expect(stage.stored.contains("logged_out"), "\(stage.stored)")
    #expect(try stage.stage.get().isRefused("login-required"))
    stage.assertSecrets(times: 0)
  }
}
