import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// Tokens that the API has rejected are not sent again. A user's fix takes effect immediately (T67).
@Suite(.inProcess) struct RejectedTokensAreNotResent {
  private let good = Guarded<Set<String>>([])
  private let next = "NEXT-" + UUID().uuidString

  private func stage() throws -> TokenStage {
    let good = good
    return try TokenStage { connection in
      while let request = try? connection.readRequest() {
        let token = request.text.firstMatch(of: /Authorization: Bearer (\S+)/).map { String($0.1) } ?? ""
        let isGood = good.withLock { $0.contains(token) }
        connection.respond(
          isGood ? "hello" : "no", status: isGood ? "200 OK" : "401 Unauthorized",
          fields: isGood ? "" : "WWW-Authenticate: Bearer error=\"invalid_token\"\r\n")
      }
    }
  }

  private func retryAfter(_ response: LocalClient.Response) -> Int? {
    response.values("Retry-After").first.flatMap { Int($0) }
  }

  @Test(arguments: [1, 2])
  func `T67: a rejected token is sent once, and later callers get Retry-After`(
    workers: Int
  ) throws {
    let stage = try stage()
    stage.tokens.respond(with: [.token(stage.stage.canary, expiresIn: 3600), .error(400, "invalid_client")])
    try stage.start(workers: workers)
    #expect(try stage.stage.get().status == 401)
    for _ in 0..<8 {
      let response = try stage.stage.get()
      #expect(response.isRefused("token-unavailable") && response.values("x-should-retry").isEmpty)
      // The server refuses the client. Unless something changes, the next attempt is five minutes away.
      #expect(retryAfter(response).map { $0 > 60 } == true)
    }
    #expect(!stage.log.contains(.credentialSuspended))
    good.withLock { $0 = [next] }
    stage.tokens.respond(with: .token(next, expiresIn: 3600))
    try stage.stage.scratch.write("client.secret", "ANOTHER-secret\n")
    #expect(try stage.ask(until: { $0.status == 200 }) != nil)
    stage.stage.assertCanary(times: 1)
  }

  @Test(arguments: ["reload", "resume canary"])
  func `T67: reload and resume request a new token immediately`(command: String) throws {
    let stage = try stage()
    stage.tokens.respond(with: [.token(stage.stage.canary, expiresIn: 3600), .error(400, "invalid_client")])
    try stage.start()
    #expect(try stage.stage.get().status == 401)
    #expect(try stage.stage.get().isRefused("token-unavailable"))
    good.withLock { $0 = [next] }
    stage.tokens.respond(with: .token(next, expiresIn: 3600))
    #expect(try stage.stage.control(command).hasPrefix("ok\n"))
    #expect(try stage.ask(until: { $0.status == 200 }) != nil)
    stage.stage.assertCanary(times: 1)
  }

  @Test func `T67: if a login is required, the response tells programs not to retry`() throws {
    let stage = try stage()
    stage.tokens.respond(with: [
      .token(stage.stage.canary, expiresIn: 3600, refresh: "SECOND-refresh"), .error(400, "invalid_grant"),
    ])
    try stage.start(TokenStage.person)
    #expect(try stage.stage.get().status == 401)
    for _ in 0..<8 {
      let response = try stage.stage.get()
      #expect(response.isRefused("login-required") && response.values("Retry-After").isEmpty)
      #expect(response.values("x-should-retry") == ["false"])
    }
    good.withLock { $0 = [next] }
    stage.tokens.respond(with: .token(next, expiresIn: 3600))
    try stage.stage.scratch.write("first.token", "ANOTHER-first\n")
    #expect(try stage.ask(until: { $0.status == 200 }) != nil)
    stage.stage.assertCanary(times: 1)
  }

  @Test func `an expired idle token counts as available and is renewed by the next request`() throws {
    let stage = try stage()
    good.withLock { $0 = [stage.stage.canary] }
    stage.tokens.respond(with: [
      .token("SHORT-token-of-a-second", expiresIn: 1), .token(stage.stage.canary, expiresIn: 3600),
    ])
    try stage.start()
    #expect(stage.log.wait(for: .credentialUnavailable, ["credential": "canary"]))
    let status = try stage.stage.control("status")
    #expect(status.contains("\"available\":true") && status.contains("\"at_next_request\":true"), "\(status)")
    #expect(try stage.stage.control("metrics").contains("bearerd_credential_available{credential=\"canary\"} 1\n"))
    #expect(try stage.stage.get().status == 200)
    #expect(try stage.stage.control("status").contains("\"at_next_request\":false"))
    stage.stage.assertCanary(times: 1)
  }
}
