import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// If an upstream calls a token expired, bearerd sends the request once more with a new token (T41).
@Suite(.inProcess) struct ExpiredTokensAreReplaced {
  /// Tokens that the upstream accepts. Other tokens get a 401.
  private let good = Guarded(Set<String>())
  private let next = "NEXT-" + UUID().uuidString

  private func stage(challenge: String = "Bearer error=\"invalid_token\"") throws -> TokenStage {
    let good = good
    return try TokenStage { connection in
      while let request = try? connection.readRequest() {
        let token = request.text.firstMatch(of: /Authorization: Bearer (\S+)/).map { String($0.1) } ?? ""
        if good.withLock({ $0.contains(token) }) {
          connection.respond("echo:" + String(decoding: request.body, as: UTF8.self))
        } else {
          connection.respond(
            "the upstream's words", status: "401 Unauthorized", fields: "WWW-Authenticate: \(challenge)\r\n")
        }
      }
    }
  }

  private func assertSecrets(_ stage: TokenStage, canary: Int, next count: Int) {
    stage.assertSecrets(times: canary)
    stage.stage.assertCanary(times: count, as: next, secret: next)
  }

  @Test(arguments: [1, 2])
  func `T41: bearerd retries with a new token, and the caller sees one response`(workers: Int) throws {
    let stage = try stage()
    stage.tokens.respond(with: [.token(stage.stage.canary, expiresIn: 3600), .token(next, expiresIn: 3600)])
    good.withLock { $0 = [next] }
    try stage.start(workers: workers)
    let response = try stage.stage.get()
    #expect(response.status == 200 && response.text == "echo:")
    #expect(stage.tokens.requests.count == 2)
    #expect(stage.log.wait(for: .request, ["renewed": "true"]))
    for _ in 0..<3 { #expect(try stage.stage.get().status == 200) }
    #expect(stage.tokens.requests.count == 2)
    assertSecrets(stage, canary: 1, next: 4)
  }

  @Test(arguments: ["OTP", "ipaddress", "Bearer error=\"insufficient_scope\", scope=\"a\"", "Bearer claims=\"e30=\""])
  func `T41: a 401 that demands something more starts no renewal and no suspension`(challenge: String) throws {
    let stage = try stage(challenge: challenge)
    try stage.start()
    for _ in 0..<12 {
      let response = try stage.stage.get()
      #expect(response.status == 401 && response.text == "the upstream's words")
      #expect(response.values("www-authenticate") == [challenge])
    }
    #expect(stage.tokens.requests.count == 1)
    #expect(!stage.log.contains(.credentialSuspended, ["credential": "canary"]))
    assertSecrets(stage, canary: 12, next: 0)
  }

  @Test func `T41: a one-time password that the upstream demands starts no further form login`() throws {
    let couch = try CouchStage()
    try couch.stage.start(couch.configuration())
    #expect(try couch.stage.get().status == 200)
    couch.state.withLock {
      $0.good = []
      $0.rejection = ("401 Unauthorized", "WWW-Authenticate: OTP\r\n", "{\"error\":\"one-time pass\"}")
    }
    for _ in 0..<6 {
      let response = try couch.stage.get()
      #expect(response.status == 401 && response.values("www-authenticate") == ["OTP"])
    }
    #expect(couch.logins.count == 1)
    #expect(!couch.log.contains(.credentialSuspended, ["credential": "canary"]))
  }

  @Test func `T41: a retry sends the same body, and a body above replay_buffer is not retried`() throws {
    let stage = try stage()
    let third = "THIRD-" + UUID().uuidString
    stage.tokens.respond(with: [stage.stage.canary, next, third].map { .token($0, expiresIn: 3600) })
    good.withLock { $0 = [next] }
    try stage.start(more: ", replay_buffer: 8")
    let large = try stage.stage.raw()
    try large.send(stage.stage.head("POST", fields: "Content-Length: 9\r\n") + "ninebytes")
    #expect(try large.response().head.hasPrefix("HTTP/1.1 401 "))
    try large.send(stage.stage.head("POST", fields: "Content-Length: 9\r\n") + "ninebytes")
    #expect(try large.response().head.hasPrefix("HTTP/1.1 200 "))
    #expect(stage.tokens.requests.count == 2)
    good.withLock { $0 = [third] }
    let small = try stage.stage.raw()
    try small.send(stage.stage.head("POST", fields: "Content-Length: 8\r\n") + "8 bytes!")
    let response = try small.response()
    #expect(response.head.hasPrefix("HTTP/1.1 200 ") && response.body == "echo:8 bytes!")
    #expect(stage.tokens.requests.count == 3)
    assertSecrets(stage, canary: 1, next: 2)
    stage.stage.assertCanary(times: 1, as: third, secret: third)
  }

  @Test(arguments: [1, 2])
  func `T39: fifty simultaneous rejections lead to one token request`(workers: Int) throws {
    let stage = try stage()
    stage.tokens.respond(with: [.token(stage.stage.canary, expiresIn: 3600), .token(next, expiresIn: 3600)])
    good.withLock { $0 = [stage.stage.canary] }
    try stage.start(workers: workers)
    let clients = try (0..<50).map { _ in try stage.stage.raw() }
    for client in clients {
      try client.send(stage.stage.head("GET"))
      #expect(try client.response().head.hasPrefix("HTTP/1.1 200 "))
    }
    good.withLock { $0 = [next] }
    for client in clients { try client.send(stage.stage.head("GET")) }
    for client in clients { #expect(try client.response().head.hasPrefix("HTTP/1.1 200 ")) }
    #expect(stage.tokens.requests.count == 2)
  }

  @Test func `T41: a request is sent at most twice, and token requests stop after repeated rejections`() throws {
    let stage = try stage()
    stage.tokens.respond(with: (0..<20).map { .token("TOKEN-\($0)", expiresIn: 3600) })
    try stage.start()
    for count in 1...12 {
      let response = try stage.stage.get()
      // In the end the credential is suspended.
      #expect(
        response.status == 401 && response.text == "the upstream's words" || response.isRefused("credential-suspended")
          || response.isRefused("token-unavailable"))
      #expect(stage.stage.recorded.components(separatedBy: "GET /").count - 1 <= 2 * count)
    }
    // One token at the start, and five within the window.
    #expect((2...6).contains(stage.tokens.requests.count))
  }

  /// `suspend: off`, so that no suspension ends the series.
  @Test func `T41: at most five tokens are requested within 30 seconds, and the limit is logged once`() throws {
    let stage = try stage()
    stage.tokens.respond(with: (0..<40).map { .token("TOKEN-\($0)", expiresIn: 3600) })
    try stage.stage.start(stage.configuration().replacing("    oauth2:", with: "    suspend: off\n    oauth2:"))
    for _ in 0..<20 {
      let response = try stage.stage.get()
      #expect(response.status == 401 || response.isRefused("token-unavailable"))
    }
    #expect(stage.log.wait(for: .tokenStorm, ["credential": "canary"]))
    // One token at the start, and five for each window of 30 seconds. A slow machine may need two windows.
    #expect((5...10).contains(stage.tokens.requests.count))
    #expect(stage.log.lines(of: .tokenStorm).count <= stage.tokens.requests.count / 5)
    #expect(try stage.stage.control("status").contains("\"next_attempt_in\":"))
  }

  @Test func `T41: if the endpoint returns the same token, the request is not sent again`() throws {
    let stage = try stage()
    stage.tokens.respond(with: .token(stage.stage.canary, expiresIn: 3600))
    try stage.start()
    #expect(try stage.stage.get().status == 401)
    #expect(stage.tokens.requests.count == 2)
    assertSecrets(stage, canary: 1, next: 0)
  }

  @Test func `T41: if the token cannot be renewed, the caller gets the upstream's response`() throws {
    let stage = try stage()
    stage.tokens.respond(with: [.token(stage.stage.canary, expiresIn: 3600), .error(503, "temporarily_unavailable")])
    try stage.start()
    let response = try stage.stage.get()
    #expect(response.status == 401 && response.text == "the upstream's words")
    #expect(response.head.contains("credential-rejected") && !response.head.contains("invalid_token"))
    #expect(stage.tokens.requests.count == 2)
    assertSecrets(stage, canary: 1, next: 0)
  }

  @Test(arguments: [1, 2])
  func `T41: a failed renewal is repeated later`(workers: Int) throws {
    let stage = try stage()
    stage.tokens.respond(with: [
      .token(stage.stage.canary, expiresIn: 3600), .error(503, "temporarily_unavailable"),
      .token(next, expiresIn: 3600),
    ])
    good.withLock { $0 = [next] }
    try stage.start(workers: workers)
    #expect(try stage.stage.get().status == 401)
    let response = try stage.ask(until: { $0.status == 200 }) { #expect($0.isRefused("token-unavailable")) }
    #expect(response != nil && stage.tokens.requests.count == 3)
    assertSecrets(stage, canary: 1, next: 1)
  }

  @Test func `T41: insufficient_scope does not lead to a renewal`() throws {
    let stage = try stage(challenge: "Bearer error=\"insufficient_scope\"")
    try stage.start()
    #expect(try stage.stage.get().status == 401)
    #expect(stage.tokens.requests.count == 1)
    assertSecrets(stage, canary: 1, next: 0)
  }
}
