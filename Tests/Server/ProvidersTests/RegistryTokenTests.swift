import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// bearerd responds to a registry's challenge with a token for the requested scope. The client needs no tokens.
@Suite(.inProcess) struct RegistryTokenTests {
  private func ask(_ stage: Stage, _ method: String, _ path: String, body: String = "") throws -> LocalClient.Response {
    let length = body.isEmpty ? "" : "Content-Length: \(body.utf8.count)\r\n"
    return try stage.request("\(method) /api\(path) HTTP/1.1\r\nHost: HOST\r\n\(length)\r\n", body: body)
  }

  /// Only the token server gets the password.
  private func assertUnseen(_ stage: Stage, sourceLocation: SourceLocation = #_sourceLocation) {
    stage.assertCanary(times: 0, as: stage.canary, sourceLocation: sourceLocation)
    let pair = Data("deploy:\(stage.canary)".utf8).base64EncodedString()
    #expect(!stage.recorded.contains(pair), "at the registry", sourceLocation: sourceLocation)
    #expect(stage.log.hides("REGISTRY-TOKEN"), "in the log", sourceLocation: sourceLocation)
  }

  @Test func `a client without support for tokens pulls and pushes`() throws {
    let (stage, server) = try RegistryServer.stage()
    #expect(try ask(stage, "GET", "/v2/").status == 200)
    for path in ["/v2/a/b/manifests/latest", "/v2/a/b/blobs/sha256:1", "/v2/a/b/tags/list"] {
      let response = try ask(stage, "GET", path)
      #expect(response.status == 200 && response.text == "repository:a/b:pull ")
      #expect(response.values("WWW-Authenticate").isEmpty)
    }
    #expect(try ask(stage, "POST", "/v2/a/b/blobs/uploads/").text == "repository:a/b:pull,push ")
    #expect(try ask(stage, "PATCH", "/v2/a/b/blobs/uploads/1", body: "layer").text == "repository:a/b:pull,push layer")
    #expect(server.verdicts == ["bare", "good", "bare", "good", "good", "good", "bare", "good", "good"])
    #expect(server.asked.count == 3)
    #expect(
      server.asked[2].text.hasPrefix("GET /auth/token?service=registry.test&scope=repository%3Aa%2Fb%3Apull%2Cpush "))
    assertUnseen(stage)
  }

  @Test func `T38: bearerd asks only the configured realm for tokens`() throws {
    let (stage, server) = try RegistryServer.stage()
    server.change { $0.realm = "\(stage.origin)/auth/token" }
    let response = try ask(stage, "GET", "/v2/a/manifests/1")
    #expect(response.status == 401 && response.text == "the registry's words")
    #expect(server.asked.isEmpty && server.verdicts == ["bare"])
    #expect(stage.log.wait(for: .challengeUnmet, ["credential": "canary"]))
    assertUnseen(stage)
  }

  @Test func `T38: a token server with an untrusted certificate gets no byte`() throws {
    let other = try Stage()
    let (stage, server) = try RegistryServer.stage(more: ", pins: [\(other.leaf.pin)], backup_pin: none")
    #expect(try ask(stage, "GET", "/v2/a/manifests/1").status == 401)
    #expect(server.asked.isEmpty && server.tokens.records.allSatisfy { $0.bytes.isEmpty })
    #expect(stage.log.wait(for: .tokenFailed))
    assertUnseen(stage)
  }

  @Test func `a registry without ca_file uses the system's authorities, even if every service has a ca_file`() throws {
    let (stage, server) = try RegistryServer.stage(ca: "")
    #expect(try ask(stage, "GET", "/v2/a/manifests/1").status == 401)
    #expect(stage.log.wait(for: .tokenFailed))
    // The token server was reached, and its certificate refused.
    #expect(server.asked.isEmpty && !server.tokens.records.isEmpty)
    assertUnseen(stage)
  }

  @Test func `T39: simultaneous requests for the same scope share one token request`() throws {
    let (stage, server) = try RegistryServer.stage()
    let clients = try (0..<30).map { _ in try stage.raw() }
    for client in clients { try client.send(stage.head("GET", "/api/v2/a/manifests/1")) }
    for client in clients { #expect(try client.response().head.hasPrefix("HTTP/1.1 200 ")) }
    // Some requests may arrive after the token was fetched.
    #expect(server.asked.count == 1)
    assertUnseen(stage)
  }

  @Test func `T41: a rejected token is replaced once for each request`() throws {
    let (stage, server) = try RegistryServer.stage()
    #expect(try ask(stage, "GET", "/v2/a/manifests/1").status == 200)
    server.forget()
    #expect(try ask(stage, "GET", "/v2/a/manifests/1").status == 200)
    #expect(server.verdicts == ["bare", "good", "wrong", "good"] && server.asked.count == 2)
    server.change { $0.rejectsAll = true }
    for _ in 0..<20 {
      let response = try ask(stage, "GET", "/v2/a/manifests/1")
      #expect(
        response.status == 401 && response.text == "the registry's words" || response.isRefused("credential-suspended"))
    }
    #expect(server.verdicts.count { $0 == "wrong" } <= 1 + 2 * 5 && server.asked.count <= 2 + 5)
    assertUnseen(stage)
  }

  @Test func `T41: requests with a wrong password back off, and a changed password is tried immediately`() throws {
    let (stage, server) = try RegistryServer.stage()
    server.change { $0.password = "another" }
    for _ in 0..<20 {
      let response = try ask(stage, "GET", "/v2/a/manifests/1")
      #expect(response.status == 401 && response.text == "the registry's words")
    }
    // The pauses are 1 s, 2 s, 4 s, …, so that even a slow machine sends fewer token requests.
    #expect((1...8).contains(server.asked.count))
    let shown = server.asked.count
    try stage.scratch.write("canary.token", "another\n")
    #expect(stage.log.wait(for: .credentialChanged))
    #expect(try ask(stage, "GET", "/v2/a/manifests/1").status == 200)
    #expect(server.asked.count == shown + 1)
  }

  @Test func `T40: a token granted for a replaced password is not used`() throws {
    let (stage, server) = try RegistryServer.stage()
    let (asked, gate) = (Gate(), Gate())
    server.onAsked.withLock {
      $0 = {
        asked.open()
        gate.pass()
      }
    }
    let client = try stage.client()
    try client.send(stage.head("GET", "/api/v2/a/manifests/1"))
    #expect(asked.pass())
    try stage.scratch.write("canary.token", "another\n")
    #expect(stage.log.wait(for: .credentialChanged))
    gate.open(times: 8)
    _ = try client.response()
    server.change { $0.password = "another" }
    server.forget()
    #expect(try ask(stage, "GET", "/v2/a/manifests/1").status == 200)
    let pairs = server.asked.map { $0.text.contains(Data("deploy:another".utf8).base64EncodedString()) }
    #expect(pairs.first == false && pairs.last == true)
    #expect(!server.verdicts.contains("wrong"), "what the first one was granted goes nowhere")
  }

  @Test func `T40: an expired registry token is replaced`() throws {
    let (stage, server) = try RegistryServer.stage()
    server.change { $0.lifetime = 1 }
    let isReplaced = try eventually {
      let status = try ask(stage, "GET", "/v2/a/manifests/1").status
      #expect(status == 200)
      return server.asked.count >= 2
    }
    #expect(isReplaced && !server.verdicts.contains("wrong"))
  }

  @Test func `without a user, bearerd requests anonymous tokens`() throws {
    let (stage, server) = try RegistryServer.stage(login: "")
    server.change { $0.isOpen = true }
    #expect(try ask(stage, "GET", "/v2/a/manifests/1").status == 200)
    #expect(server.asked.count == 1 && !server.asked[0].text.contains("Authorization"))
  }

  @Test func `T41: if the token server does not respond, the client gets the registry's response`() throws {
    let (stage, server) = try RegistryServer.stage(more: ", timeout: 300ms")
    let goes = Gate()
    defer { goes.open() }
    server.onAsked.withLock { $0 = { goes.pass() } }
    let response = try ask(stage, "GET", "/v2/a/manifests/1")
    #expect(response.status == 401 && response.text == "the registry's words")
    #expect(response.values("WWW-Authenticate").first?.hasPrefix("Bearer ") == true, "nothing was rejected")
  }

  @Test func `T41: a body above replay_buffer is not retried, but the next request has a token`() throws {
    let (stage, server) = try RegistryServer.stage(more: ", replay_buffer: 4")
    #expect(try ask(stage, "PUT", "/v2/a/manifests/1", body: "manifest").status == 401)
    #expect(eventually { server.asked.count == 1 })
    let isTaken = try eventually { try ask(stage, "PUT", "/v2/a/manifests/1", body: "manifest").status == 200 }
    #expect(isTaken)
    assertUnseen(stage)
  }
}
