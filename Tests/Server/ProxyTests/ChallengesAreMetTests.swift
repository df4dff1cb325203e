import TestServer
import Foundation
import Log
import Policy
import ServerSupport
import TestSupport
import Testing

/// A `digest` credential meets what its upstream asks for, and the program sees one answer.
@Suite(.inProcess) struct ChallengesAreMet {
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

  /// The password itself is nowhere, not even at the upstream.
  private func assertUnseen(_ stage: Stage, sourceLocation: SourceLocation = #_sourceLocation) {
    stage.assertCanary(times: 0, as: stage.canary, sourceLocation: sourceLocation)
    let responses = stage.recorded.matches(of: /response="([0-9a-f]+)"/).map { String($0.1) }
    for response in responses {
      #expect(stage.log.hides(response), "in the log", sourceLocation: sourceLocation)
    }
  }

  @Test(arguments: DigestHash.allCases, [false, true])
  func `The program sees one answer, and later requests go out with the nonce at once`(
    hash: DigestHash, isSession: Bool
  ) throws {
    let (stage, server) = try stage(DigestServer.Rules(hash: hash, isSession: isSession))
    for path in ["/api/x", "/api/a%20b?c=d&e", "/api/"] {
      let answer = try stage.get(path)
      #expect(answer.status == 200 && answer.text == "echo:")
      #expect(answer.values("WWW-Authenticate").isEmpty && answer.values("Authentication-Info").isEmpty)
    }
    #expect(server.verdicts == ["bare", "good", "good", "good"])
    #expect(stage.recorded.contains("uri=\"/base/a%20b?c=d&e\""))
    assertUnseen(stage)
  }

  @Test func `Without qop it is the form of RFC 2069`() throws {
    let (stage, server) = try stage(DigestServer.Rules(hash: .md5, more: ""))
    for _ in 0..<2 { #expect(try stage.get().status == 200) }
    #expect(server.verdicts == ["bare", "good", "good"] && !stage.recorded.contains("cnonce"))
  }

  @Test func `T41: the same body goes out again, and one that is not kept does not`() throws {
    let (stage, server) = try stage(.init(), ", replay_buffer: 8")
    let large = try stage.raw()
    try large.send(stage.head("POST", fields: "Content-Length: 9\r\n") + "ninebytes")
    let first = try large.answer()
    #expect(first.head.hasPrefix("HTTP/1.1 401 ") && first.body == "the upstream's words")
    #expect(!first.head.contains("Digest"))
    // What the upstream asked for is known all the same.
    let second = try stage.raw()
    try second.send(stage.head("POST", fields: "Content-Length: 9\r\n") + "ninebytes")
    #expect(try second.answer().body == "echo:ninebytes")
    server.expire()
    let chunked = try stage.raw()
    try chunked.send(
      stage.head("POST", fields: "Transfer-Encoding: chunked\r\n") + "2\r\n8 \r\n6\r\nbytes!\r\n0\r\n\r\n")
    #expect(try chunked.answer().body == "echo:8 bytes!")
    #expect(server.verdicts == ["bare", "good", "stale", "good"])
    assertUnseen(stage)
  }

  @Test(arguments: [false, true])
  func `A nonce that is not taken any more is replaced`(saysStale: Bool) throws {
    let (stage, server) = try stage(.init(uses: 2, saysStale: saysStale))
    for _ in 0..<5 { #expect(try stage.get().status == 200) }
    #expect(server.verdicts == ["bare", "good", "good", "stale", "good", "good", "stale", "good"])
  }

  @Test func `The next nonce is used where the upstream names one`() throws {
    let (stage, server) = try stage(.init(namesNext: true))
    for _ in 0..<4 { #expect(try stage.get().status == 200) }
    #expect(server.verdicts == ["bare", "good", "good", "good", "good"])
    #expect(!stage.recorded.contains("nc=00000002"))
  }

  @Test func `T41: a wrong password goes out once for each request, and is held back after five`() throws {
    let (stage, server) = try stage(password: "another")
    for count in 1...5 {
      let answer = try stage.get()
      #expect(answer.status == 401 && answer.text == "the upstream's words")
      #expect(answer.values("WWW-Authenticate") == ["bearerd-credential-rejected"])
      #expect(server.verdicts.count <= 2 * count && server.verdicts.count { $0 == "wrong" } == count)
    }
    for _ in 0..<3 { #expect(try stage.get().isRefused("credential-suspended")) }
    #expect(server.verdicts.count { $0 == "wrong" } == 5)
    // A right one goes out at once.
    try stage.scratch.write("canary.token", "another\n")
    #expect(stage.log.wait(for: .credentialChanged))
    #expect(try stage.get().status == 200)
    assertUnseen(stage)
  }

  @Test func `T41: answers to requests that went out bare neither suspend a credential nor clear it`() throws {
    // The upstream asks for what may not be computed: nothing of the credential ever goes out.
    let (stage, server) = try stage(.init(hash: .md5), ", algorithms: [SHA-256, SHA-512-256]")
    for _ in 0..<8 {
      let answer = try stage.get()
      #expect(answer.status == 401 && answer.text == "the upstream's words")
    }
    #expect(server.verdicts == Array(repeating: "bare", count: 8))
    #expect(!stage.log.contains(.credentialSuspended))
    #expect(stage.log.wait(for: .challengeUnmet, ["credential": "canary", "upstream": "\(stage.origin)"]))
    #expect(stage.log.lines(of: .challengeUnmet).count == 1)
  }

  @Test func `T43: a hostile challenge adds no line to the next request`() throws {
    let realm = "x\\\", nonce=\\\"y"
    let stage = try Stage { connection in
      while (try? connection.readRequest()) != nil {
        connection.answer(
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

  @Test func `T41: many requests at once, of several workers, suspend nothing by nonces that are used up`() throws {
    let (stage, server) = try stage(.init(uses: 7), config: "workers: 2\n")
    let clients = try (0..<24).map { _ in try stage.raw() }
    for _ in 0..<3 {
      for client in clients { try client.send(stage.head("GET")) }
      for client in clients {
        let head = try client.answer().head
        // Whose nonce was used up twice while it was under way.
        #expect(head.hasPrefix("HTTP/1.1 200 ") || head.hasPrefix("HTTP/1.1 401 "))
      }
    }
    #expect(!server.verdicts.contains("repeated") && !server.verdicts.contains("wrong"))
    #expect(!stage.log.contains(.credentialSuspended))
    assertUnseen(stage)
  }
}
