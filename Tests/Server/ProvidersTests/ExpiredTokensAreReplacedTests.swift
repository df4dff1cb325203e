import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// An upstream that calls a token expired is asked once more, with another one (T41).
@Suite(.inProcess) struct ExpiredTokensAreReplaced {
  /// Tokens that the upstream takes; with any other one it answers 401.
  private let good = Guarded(Set<String>())
  private let next = "NEXT-" + UUID().uuidString

  private func stage(challenge: String = "Bearer error=\"invalid_token\"") throws -> TokenStage {
    let good = good
    return try TokenStage { connection in
      while let request = try? connection.readRequest() {
        let token = request.text.firstMatch(of: /Authorization: Bearer (\S+)/).map { String($0.1) } ?? ""
        if good.withLock({ $0.contains(token) }) {
          connection.answer("echo:" + String(decoding: request.body, as: UTF8.self))
        } else {
          connection.answer(
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
  func `T41: the client of an expired token sees one answer, with the next`(workers: Int) throws {
    let stage = try stage()
    stage.tokens.answers([.token(stage.stage.canary, expiresIn: 3600), .token(next, expiresIn: 3600)])
    good.withLock { $0 = [next] }
    try stage.start(workers: workers)
    let answer = try stage.stage.get()
    #expect(answer.status == 200 && answer.text == "echo:")
    #expect(stage.tokens.requests.count == 2)
    #expect(stage.log.wait(for: .request, ["renewed": "true"]))
    for _ in 0..<3 { #expect(try stage.stage.get().status == 200) }
    #expect(stage.tokens.requests.count == 2)
    assertSecrets(stage, canary: 1, next: 4)
  }

  @Test func `T41: the same body goes out with it, and one that is not kept does not`() throws {
    let stage = try stage()
    let third = "THIRD-" + UUID().uuidString
    stage.tokens.answers([stage.stage.canary, next, third].map { .token($0, expiresIn: 3600) })
    good.withLock { $0 = [next] }
    try stage.start(more: ", replay_buffer: 8")
    let large = try stage.stage.raw()
    try large.send(stage.stage.head("POST", fields: "Content-Length: 9\r\n") + "ninebytes")
    #expect(try large.answer().head.hasPrefix("HTTP/1.1 401 "))
    // Whoever comes next has another one.
    try large.send(stage.stage.head("POST", fields: "Content-Length: 9\r\n") + "ninebytes")
    #expect(try large.answer().head.hasPrefix("HTTP/1.1 200 "))
    #expect(stage.tokens.requests.count == 2)
    good.withLock { $0 = [third] }
    let small = try stage.stage.raw()
    try small.send(stage.stage.head("POST", fields: "Content-Length: 8\r\n") + "8 bytes!")
    let answer = try small.answer()
    #expect(answer.head.hasPrefix("HTTP/1.1 200 ") && answer.body == "echo:8 bytes!")
    #expect(stage.tokens.requests.count == 3)
    assertSecrets(stage, canary: 1, next: 2)
    stage.stage.assertCanary(times: 1, as: third, secret: third)
  }

  @Test(arguments: [1, 2])
  func `T39: fifty that hear of it at once have one new token fetched`(workers: Int) throws {
    let stage = try stage()
    stage.tokens.answers([.token(stage.stage.canary, expiresIn: 3600), .token(next, expiresIn: 3600)])
    good.withLock { $0 = [stage.stage.canary] }
    try stage.start(workers: workers)
    let clients = try (0..<50).map { _ in try stage.stage.raw() }
    for client in clients {
      try client.send(stage.stage.head("GET"))
      #expect(try client.answer().head.hasPrefix("HTTP/1.1 200 "))
    }
    good.withLock { $0 = [next] }
    for client in clients { try client.send(stage.stage.head("GET")) }
    for client in clients { #expect(try client.answer().head.hasPrefix("HTTP/1.1 200 ")) }
    #expect(stage.tokens.requests.count == 2)
  }

  @Test func `T41: one that is never taken goes out twice, and soon no other one is asked for`() throws {
    let stage = try stage()
    stage.tokens.answers((0..<20).map { .token("TOKEN-\($0)", expiresIn: 3600) })
    try stage.start()
    for count in 1...12 {
      let answer = try stage.stage.get()
      // At last it is held back altogether.
      #expect(
        answer.status == 401 && answer.text == "the upstream's words" || answer.isRefused("credential-suspended")
          || answer.isRefused("token-unavailable"))
      #expect(stage.stage.recorded.components(separatedBy: "GET /").count - 1 <= 2 * count)
    }
    // One at the start, and five within the window.
    #expect((2...6).contains(stage.tokens.requests.count))
  }

  /// Each time somebody else, so that no breaker ends it.
  @Test func `T41: where no token is ever good, five are asked for within half a minute, and it is told once`() throws {
    let stage = try stage()
    stage.tokens.answers((0..<40).map { .token("TOKEN-\($0)", expiresIn: 3600) })
    try stage.stage.start(stage.configuration().replacing("    oauth2:", with: "    suspend: off\n    oauth2:"))
    for _ in 0..<20 {
      let answer = try stage.stage.get()
      #expect(answer.status == 401 || answer.isRefused("token-unavailable"))
    }
    #expect(stage.log.wait(for: .tokenStorm, ["credential": "canary"]))
    // One at the start; each window lasts for half a minute, and this may take two on a slow machine.
    #expect((5...10).contains(stage.tokens.requests.count))
    #expect(stage.log.lines(of: .tokenStorm).count <= stage.tokens.requests.count / 5)
    #expect(try stage.stage.control("status").contains("\"next_attempt_in\":"))
  }

  @Test func `T41: the same token once more is not sent once more`() throws {
    let stage = try stage()
    stage.tokens.answers(.token(stage.stage.canary, expiresIn: 3600))
    try stage.start()
    #expect(try stage.stage.get().status == 401)
    #expect(stage.tokens.requests.count == 2)
    assertSecrets(stage, canary: 1, next: 0)
  }

  @Test func `T41: a token that cannot be replaced leaves the upstream's answer as it was`() throws {
    let stage = try stage()
    stage.tokens.answers([.token(stage.stage.canary, expiresIn: 3600), .error(503, "temporarily_unavailable")])
    try stage.start()
    let answer = try stage.stage.get()
    #expect(answer.status == 401 && answer.text == "the upstream's words")
    #expect(answer.head.contains("credential-rejected") && !answer.head.contains("invalid_token"))
    #expect(stage.tokens.requests.count == 2)
    assertSecrets(stage, canary: 1, next: 0)
  }

  @Test(arguments: [1, 2])
  func `T41: what could not be replaced at once is replaced later`(workers: Int) throws {
    let stage = try stage()
    stage.tokens.answers([
      .token(stage.stage.canary, expiresIn: 3600), .error(503, "temporarily_unavailable"),
      .token(next, expiresIn: 3600),
    ])
    good.withLock { $0 = [next] }
    try stage.start(workers: workers)
    #expect(try stage.stage.get().status == 401)
    // What the upstream has called dead goes out no more (T67).
    let answer = try stage.ask(until: { $0.status == 200 }) { #expect($0.isRefused("token-unavailable")) }
    #expect(answer != nil && stage.tokens.requests.count == 3)
    assertSecrets(stage, canary: 1, next: 1)
  }

  @Test func `T41: what may not be done is no expiry`() throws {
    let stage = try stage(challenge: "Bearer error=\"insufficient_scope\"")
    try stage.start()
    #expect(try stage.stage.get().status == 401)
    #expect(stage.tokens.requests.count == 1)
    assertSecrets(stage, canary: 1, next: 0)
  }
}
