import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// Tokens without remaining lifetime are not sent, and requests wait for the next token (T40).
@Suite(.inProcess) struct ExpiredTokensAreNotSent {
  private static let dead = "DEAD-token-of-no-time"

  @Test(arguments: ["0", "-5", "0.4", "\"soon\"", "false"], [1, 2])
  func `T40: a token without lifetime is not used, and requests wait for the next token`(
    lifetime: String, workers: Int
  ) throws {
    let stage = try TokenStage()
    let dead = TokenServer.json(
      200, "{\"access_token\":\"\(Self.dead)\",\"token_type\":\"Bearer\",\"expires_in\":\(lifetime)}")
    stage.tokens.respond(with: [.raw(dead), .token(stage.stage.canary, expiresIn: 3600)])
    try stage.start(workers: workers)
    #expect(try stage.stage.get().status == 200)
    #expect(stage.tokens.requests.count == 2)
    #expect(stage.log.contains(.tokenFailed, ["credential": "canary"]))
    stage.stage.assertCanary(times: 0, as: Self.dead, secret: Self.dead)
    stage.assertSecrets(times: 1)
  }

  @Test func `T39: the refresh token of an expired access token is stored and used`() throws {
    let stage = try TokenStage()
    stage.tokens.respond(with: [
      .token(Self.dead, expiresIn: 0, refresh: "SECOND-refresh"), .token(stage.stage.canary, expiresIn: 3600),
    ])
    try stage.start(TokenStage.person)
    #expect(try stage.stage.get().status == 200)
    #expect(stage.tokens.forms.map { $0["refresh_token"] } == [stage.first, "SECOND-refresh"])
    stage.stage.assertCanary(times: 0, as: Self.dead, secret: Self.dead)
    stage.assertSecrets(times: 1)
  }

  @Test(arguments: [1, 2])
  func `T40: if the token expires while the request connects, the request waits for the next token`(
    workers: Int
  ) throws {
    let stage = try TokenStage()
    let (isHere, mayGo, mayRespond, count) = (Gate(), Gate(), Gate(), Counter())
    let canary = stage.stage.canary
    // The second token request begins before the first token expires, and its response arrives after the expiry.
    stage.tokens.onDecision.withLock {
      $0 = { _ in
        if count.add() == 0 { return .token(Self.dead, expiresIn: 1) }
        mayRespond.pass()
        return .token(canary, expiresIn: 3600)
      }
    }
    let relay = try Relay(to: stage.stage.upstream.port) { number in
      guard number == 0 else { return }
      isHere.open()
      mayGo.pass()
    }
    defer {
      mayGo.open()
      mayRespond.open()
    }
    try stage.stage.start(
      stage.configuration(workers: workers).replacing(
        "localhost:\(stage.stage.upstream.port)", with: "localhost:\(relay.port)"))
    let client = try stage.stage.client()
    try client.send(stage.stage.head("GET"))
    #expect(isHere.pass())
    #expect(stage.log.wait(for: .credentialUnavailable, ["credential": "canary"]))
    mayGo.open()
    #expect(eventually { stage.stage.upstream.records.contains(where: \.handshakeCompleted) })
    mayRespond.open()
    #expect(try client.response().status == 200)
    stage.stage.assertCanary(times: 0, as: Self.dead, secret: Self.dead)
    stage.assertSecrets(times: 1)
  }

  @Test func `T39: after five tokens of one second, requests get 503 and the log and status say so`()
    throws
  {
    let stage = try TokenStage()
    stage.tokens.respond(with: .token(stage.stage.canary, expiresIn: 1))
    try stage.start()
    var good = 0
    let refused = try stage.ask(until: { $0.isRefused("token-unavailable") }) { if $0.status == 200 { good += 1 } }
    #expect(refused?.text.contains("\"reason\":\"token-storm\"") == true, "\(refused?.text ?? "never")")
    #expect(refused.flatMap { Int($0.values("Retry-After").first ?? "") }.map { (1...30).contains($0) } == true)
    #expect(stage.log.wait(for: .tokenStorm, ["credential": "canary"]))
    #expect(stage.tokens.requests.count == 5)
    #expect(try stage.stage.control("status").contains("bearerd asked for 5 tokens within 30 s"))
    #expect(stage.log.lines(of: .tokenStorm).count == 1)
    stage.assertSecrets(times: good)
  }
}
