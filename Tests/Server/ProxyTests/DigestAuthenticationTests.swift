import StatusModel
import TestServer
import Foundation
import Log
import Policy
import ServerSupport
import TestSupport
import Testing

/// bearerd responds to Digest challenges, and the program sees one response.
@Suite(.inProcess) struct DigestAuthenticationTests {
  private func stage(
    _ rules: DigestServer.Rules = DigestServer.Rules(), _ more: String = "", password: String? = nil,
    config: String = ""
  ) throws -> (stage: Stage, server: DigestServer) {
    let server = DigestServer(rules)
    let stage = try Stage(handler: { server.serve($0) })
    server.change { if $0.password.isEmpty { $0.password = password ?? stage.canary } }
    try stage.start(
      stage.configuration(
        credential: "digest: { user: deploy, password: { file: canary.token }\(more) }", more: config))
    return (stage, server)
  }

  /// The password appears nowhere, not even at the upstream.
  private func assertUnseen(_ stage: Stage, sourceLocation: SourceLocation = #_sourceLocation) {
    stage.assertCanary(times: 0, as: stage.canary, sourceLocation: sourceLocation)
    let responses = stage.recorded.matches(of: /response="([0-9a-f]+)"/).map { String($0.1) }
    for response in responses {
      #expect(stage.log.hides(response), "in the log", sourceLocation: sourceLocation)
    }
  }

  @Test(arguments: DigestHash.allCases, [false, true])
  func `the program sees one response, and later requests use the nonce immediately`(
    hash: DigestHash, isSession: Bool
  ) throws {
    let (stage, server) = try stage(DigestServer.Rules(hash: hash, isSession: isSession))
    for path in ["/api/x", "/api/a%20b?c=d&e", "/api/"] {
      let response = try stage.get(path)
      #expect(response.status == 200 && response.text == "echo:")
      #expect(response.values("WWW-Authenticate").isEmpty && response.values("Authentication-Info").isEmpty)
    }
    #expect(server.verdicts == ["bare", "good", "good", "good"])
    #expect(stage.recorded.contains("uri=\"/base/a%20b?c=d&e\""))
    assertUnseen(stage)
  }

  @Test func `a challenge without qop gets a response in the form of RFC 2069`() throws {
    let (stage, server) = try stage(DigestServer.Rules(hash: .md5, more: ""))
    for _ in 0..<2 { #expect(try stage.get().status == 200) }
    #expect(server.verdicts == ["bare", "good", "good"] && !stage.recorded.contains("cnonce"))
  }

  @Test func `T41: a retry sends the same body, and a body above replay_buffer is not retried`() throws {
    let (stage, server) = try stage(.init(), ", replay_buffer: 8")
    let large = try stage.raw()
    try large.send(stage.head("POST", fields: "Content-Length: 9\r\n") + "ninebytes")
    let first = try large.response()
    #expect(first.head.hasPrefix("HTTP/1.1 401 ") && first.body == "the upstream's words")
    #expect(!first.head.contains("Digest"))
    // The challenge is remembered for the next request.
    let second = try stage.raw()
    try second.send(stage.head("POST", fields: "Content-Length: 9\r\n") + "ninebytes")
    #expect(try second.response().body == "echo:ninebytes")
    server.expire()
    let chunked = try stage.raw()
    try chunked.send(
      stage.head("POST", fields: "Transfer-Encoding: chunked\r\n") + "2\r\n8 \r\n6\r\nbytes!\r\n0\r\n\r\n")
    #expect(try chunked.response().body == "echo:8 bytes!")
    #expect(server.verdicts == ["bare", "good", "stale", "good"])
    assertUnseen(stage)
  }

  @Test(arguments: [false, true])
  func `an expired nonce is replaced`(saysStale: Bool) throws {
    let (stage, server) = try stage(.init(uses: 2, saysStale: saysStale))
    for _ in 0..<5 { #expect(try stage.get().status == 200) }
    #expect(server.verdicts == ["bare", "good", "good", "stale", "good", "good", "stale", "good"])
  }

  @Test func `the upstream's nextnonce is used`() throws {
    let (stage, server) = try stage(.init(namesNext: true))
    for _ in 0..<4 { #expect(try stage.get().status == 200) }
    #expect(server.verdicts == ["bare", "good", "good", "good", "good"])
    #expect(!stage.recorded.contains("nc=00000002"))
  }

  @Test func `T41: each request sends a wrong password once, and five rejections suspend the credential`() throws {
    let (stage, server) = try stage(password: "another")
    for count in 1...5 {
      let response = try stage.get()
      #expect(response.status == 401 && response.text == "the upstream's words")
      #expect(response.values("WWW-Authenticate") == ["bearerd-credential-rejected"])
      #expect(server.verdicts.count <= 2 * count && server.verdicts.count { $0 == "wrong" } == count)
    }
    for _ in 0..<3 { #expect(try stage.get().isRefused("credential-suspended")) }
    #expect(server.verdicts.count { $0 == "wrong" } == 5)
    try stage.scratch.write("canary.token", "another\n")
    #expect(stage.log.wait(for: .credentialChanged))
    #expect(try stage.get().status == 200)
    assertUnseen(stage)
  }

  @Test func `T41: responses to requests without the credential do not suspend the credential`() throws {
    // The upstream asks for an algorithm that is not configured, so the credential is never sent.
    let (stage, server) = try stage(.init(hash: .md5), ", algorithms: [SHA-256, SHA-512-256]")
    for _ in 0..<8 {
      let response = try stage.get()
      #expect(response.status == 401 && response.text == "the upstream's words")
    }
    #expect(server.verdicts == Array(repeating: "bare", count: 8))
    #expect(!stage.log.contains(.credentialSuspended))
    #expect(stage.log.wait(for: .challengeUnmet, ["credential": "canary", "upstream": "\(stage.origin)"]))
    #expect(stage.log.lines(of: .challengeUnmet).count == 1)
  }

  @Test func `T43: a hostile challenge adds no header field to the next request`() throws {
    let realm = "x\\\", nonce=\\\"y"
    let stage = try Stage { connection in
      while (try? connection.readRequest()) != nil {
        connection.respond(
          "no", status: "401 Unauthorized",
          fields: "WWW-Authenticate: Digest realm=\"\(realm)\", nonce=\"n\\\\\", qop=\"auth\"\r\n"
            + "WWW-Authenticate: Digest realm=\"r\", nonce=\"\(String(repeating: "n", count: 20_000))\", algorithm=SHA-256\r\n"
        )
      }
    }
    try stage.start(
      stage.configuration(credential: "digest: { user: \"a\\\"b\", password: { file: canary.token } }"))
    for _ in 0..<3 { #expect(try stage.get().status == 401) }
    let lines = stage.recorded.components(separatedBy: "\r\n").filter { $0.contains("Digest") }
    #expect(lines.count == 3)
    for line in lines {
      #expect(
        line.hasPrefix(#"Authorization: Digest username="a\"b", realm="x\", nonce=\"y", nonce="n\\", uri="/base/x""#))
    }
    #expect(stage.daemon!.isRunning)
    assertUnseen(stage)
  }

  @Test func `T41: expired nonces of simultaneous requests do not suspend the credential`() throws {
    let (stage, server) = try stage(.init(uses: 7), config: "workers: 2\n")
    let clients = try (0..<24).map { _ in try stage.raw() }
    for _ in 0..<3 {
      for client in clients { try client.send(stage.head("GET")) }
      for client in clients {
        let head = try client.response().head
        // A 401 is possible if the nonce expired twice during the request.
        #expect(head.hasPrefix("HTTP/1.1 200 ") || head.hasPrefix("HTTP/1.1 401 "))
      }
    }
    #expect(!server.verdicts.contains("repeated") && !server.verdicts.contains("wrong"))
    #expect(!stage.log.contains(.credentialSuspended))
    assertUnseen(stage)
  }
}
