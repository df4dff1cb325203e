import Foundation
import Log
import ServerSupport
import StatusModel
import TestServer
import TestSupport
import Testing

/// Logins with the access token of another credential (`token_of`): API key, token, session.
@Suite(.inProcess) struct LoginsWithTokens {
  private let couch: CouchStage
  private let tokens: TokenServer
  private let leaf: Certificate

  init() throws {
    couch = try CouchStage(password: "TOKEN-1")
    leaf = try Stage.leaf(issuer: couch.stage.ca)
    tokens = try TokenServer(leaf)
    tokens.respond(with: ["TOKEN-1", "TOKEN-2", "TOKEN-3"].map { .token($0, expiresIn: 3600) })
    try couch.stage.scratch.write("client.secret", "CLIENT-secret-123456\n")
  }

  private func configuration(_ more: String = "", workers: Int = 1) -> String {
    let iam = """
      credentials:
        iam:
          origins: ["\(couch.stage.origin)"]
          oauth2: { token_url: "\(tokens.url)", grant: client_credentials, client_id: bearerd, client_secret: { file: client.secret }, ca_file: ca.pem, pins: [\(leaf.pin), \(couch.stage.backup.pin)]\(more) }

      """
    let fields = "form: { name: \(CouchStage.name), password: { token_of: iam } }"
    return couch.configuration(fields, workers: workers).replacing("credentials:\n", with: iam)
  }

  private var counts: [Int] { [tokens.requests.count, couch.logins.count] }

  /// Ends all sessions, and makes the server accept only this token.
  private func accept(_ token: String) {
    couch.state.withLock { ($0.good, $0.password) = ([], token) }
  }

  @Test(arguments: [1, 2])
  func `the login waits for the token, and sends it only to the login URL`(workers: Int) throws {
    try couch.stage.start(configuration(workers: workers))
    for _ in 1...3 { #expect(try couch.stage.get().status == 200) }
    #expect(counts == [1, 1])
    #expect(couch.logins.first?.form["password"] == "TOKEN-1")
    couch.assertSecrets(times: 3)
  }

  @Test func `a login after an expired session uses the same token`() throws {
    try couch.stage.start(configuration())
    #expect(try couch.stage.get().status == 200)
    accept("TOKEN-1")
    #expect(try couch.stage.get().status == 200)
    #expect(counts == [1, 2])
  }

  @Test func `a token that the login rejects is renewed once`() throws {
    try couch.stage.start(configuration())
    #expect(try couch.stage.get().status == 200)
    accept("TOKEN-2")
    #expect(try couch.stage.get().status == 200)
    #expect(counts == [2, 3])
    // Now every token is rejected.
    accept("none")
    #expect(try couch.stage.get().status == 401)
    for _ in 1...5 { #expect(try couch.stage.get().isRefused("login-required")) }
    #expect(counts == [3, 5])
  }

  @Test func `a failed login does not request another token`() throws {
    couch.state.withLock { $0.script = TokenServer.json(503, "{}") }
    try couch.stage.start(configuration())
    for _ in 1...5 { #expect(try couch.stage.get().isRefused("token-unavailable")) }
    #expect(tokens.requests.count == 1)
    couch.state.withLock { $0.script = nil }
    #expect(try eventually { try couch.stage.get().status == 200 })
    #expect(tokens.requests.count == 1)
  }

  @Test func `without a token there is no login, and changed secrets of the token end a refusal`() throws {
    tokens.respond(with: .error(401, "invalid_client"))
    try couch.stage.start(configuration())
    #expect(try couch.stage.get().isRefused("token-unavailable"))
    #expect(couch.logins.isEmpty)
    tokens.respond(with: ["TOKEN-1", "TOKEN-2", "TOKEN-3"].map { .token($0, expiresIn: 3600) })
    try couch.stage.scratch.write("client.secret", "CLIENT-another-123456\n")
    #expect(try eventually { try couch.stage.get().status == 200 })
    #expect(couch.logins.count == 1)
    // The login refuses TOKEN-1 and TOKEN-2.
    accept("TOKEN-3")
    #expect(try couch.stage.get().status == 401)
    #expect(try couch.stage.get().isRefused("login-required"))
    #expect(counts == [3, 3])
    try couch.stage.scratch.write("client.secret", "CLIENT-third-123456\n")
    #expect(try eventually { try couch.stage.get().status == 200 })
    #expect(counts == [4, 5])
  }

  @Test func `a new token does not restart a session that is in use`() throws {
    try couch.stage.start(configuration())
    #expect(try couch.stage.get().status == 200)
    #expect(try couch.stage.control("logout iam").hasPrefix("ok\n"))
    #expect(try couch.stage.get().status == 200)
    #expect(couch.logins.count == 1)
  }
}
