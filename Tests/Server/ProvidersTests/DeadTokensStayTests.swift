import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// A token that the API has called dead is not sent on, and what a person does about it helps at once (T67).
@Suite(.inProcess) struct DeadTokensStay {
  private let good = Guarded<Set<String>>([])
  private let next = "NEXT-" + UUID().uuidString

  private func stage() throws -> TokenStage {
    let good = good
    return try TokenStage { connection in
      while let request = try? connection.readRequest() {
        let token = request.text.firstMatch(of: /Authorization: Bearer (\S+)/).map { String($0.1) } ?? ""
        let isGood = good.withLock { $0.contains(token) }
        connection.answer(
          isGood ? "hello" : "no", status: isGood ? "200 OK" : "401 Unauthorized",
          fields: isGood ? "" : "WWW-Authenticate: Bearer error=\"invalid_token\"\r\n")
      }
    }
  }

  private func retryAfter(_ answer: LocalClient.Response) -> Int? {
    answer.values("Retry-After").first.flatMap { Int($0) }
  }

  @Test(arguments: [1, 2])
  func `T67: with the endpoint down a dead token goes out once, and what follows hears when to ask again`(
    workers: Int
  ) throws {
    let stage = try stage()
    stage.tokens.answers([.token(stage.stage.canary, expiresIn: 3600), .error(400, "invalid_client")])
    try stage.start(workers: workers)
    #expect(try stage.stage.get().status == 401)
    for _ in 0..<8 {
      let answer = try stage.stage.get()
      #expect(answer.isRefused("token-unavailable") && answer.values("x-should-retry").isEmpty)
      // The server refuses the client: five minutes, unless something changes.
      #expect(retryAfter(answer).map { $0 > 60 } == true)
    }
    #expect(!stage.log.contains(.credentialSuspended))
    // A person puts the right secret in its place.
    good.withLock { $0 = [next] }
    stage.tokens.answers(.token(next, expiresIn: 3600))
    try stage.stage.scratch.write("client.secret", "ANOTHER-secret\n")
    #expect(try stage.ask(until: { $0.status == 200 }) != nil)
    stage.stage.assertCanary(times: 1)
  }

  @Test(arguments: ["reload", "resume canary"])
  func `T67: a reload and a resume ask at once`(command: String) throws {
    let stage = try stage()
    stage.tokens.answers([.token(stage.stage.canary, expiresIn: 3600), .error(400, "invalid_client")])
    try stage.start()
    #expect(try stage.stage.get().status == 401)
    #expect(try stage.stage.get().isRefused("token-unavailable"))
    good.withLock { $0 = [next] }
    stage.tokens.answers(.token(next, expiresIn: 3600))
    #expect(try stage.stage.control(command).hasPrefix("ok\n"))
    #expect(try stage.ask(until: { $0.status == 200 }) != nil)
    stage.stage.assertCanary(times: 1)
  }

  @Test func `T67: where a person has to log in, no program is told to come again`() throws {
    let stage = try stage()
    stage.tokens.answers([
      .token(stage.stage.canary, expiresIn: 3600, refresh: "SECOND-refresh"), .error(400, "invalid_grant"),
    ])
    try stage.start(TokenStage.person)
    #expect(try stage.stage.get().status == 401)
    for _ in 0..<8 {
      let answer = try stage.stage.get()
      #expect(answer.isRefused("login-required") && answer.values("Retry-After").isEmpty)
      #expect(answer.values("x-should-retry") == ["false"])
    }
    good.withLock { $0 = [next] }
    stage.tokens.answers(.token(next, expiresIn: 3600))
    try stage.stage.scratch.write("first.token", "ANOTHER-first\n")
    #expect(try stage.ask(until: { $0.status == 200 }) != nil)
    stage.stage.assertCanary(times: 1)
  }

  @Test func `an idle token that has ended is there at the next request, and the metric and the status say so`() throws
  {
    let stage = try stage()
    good.withLock { $0 = [stage.stage.canary] }
    stage.tokens.answers([.token("SHORT-token-of-a-second", expiresIn: 1), .token(stage.stage.canary, expiresIn: 3600)])
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
