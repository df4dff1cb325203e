import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// What makes tokens goes to the token endpoint, and nowhere else (T38).
@Suite(.waits) struct TokenEndpointsAreApart {
  @Test(arguments: [301, 302, 303, 307, 308])
  func `T38: a redirect of the endpoint leads nowhere`(status: Int) throws {
    let stage = try TokenStage()
    let evil = try TokenServer(Stage.leaf(issuer: stage.stage.ca))
    evil.answers(.token("s3cret", expiresIn: 3600))
    stage.tokens.answers(.raw("HTTP/1.1 \(status) X\r\nLocation: \(evil.url)\r\nContent-Length: 0\r\n\r\n"))
    try stage.start()
    #expect(try stage.stage.get().isRefused("token-unavailable"))
    #expect(evil.server.records.isEmpty && stage.stage.upstream.records.isEmpty)
    #expect(stage.tokens.requests.count == 1)
    stage.assertSecrets(times: 0)
  }

  @Test func `T38: a key that is not pinned gets not one byte`() throws {
    let stage = try TokenStage()
    try stage.start(pins: [stage.stage.leaf.pin, stage.stage.backup.pin])
    #expect(try stage.stage.get().isRefused("token-unavailable"))
    #expect(stage.log.wait(for: .tokenFailed, ["detail": .naming("pin-mismatch")]))
    let records = stage.tokens.server.finish()
    #expect(!records.isEmpty && records.allSatisfy { $0.bytes.isEmpty })
    stage.assertSecrets(times: 0)
  }

  @Test func `T38: an authority that the endpoint does not name is not enough`() throws {
    let stage = try TokenStage()
    var options = Certificate.Options()
    options.commonName = "another CA"
    options.isCA = true
    try stage.stage.scratch.write("other.pem", Certificate(options).pem)
    let text = stage.configuration().replacing("ca_file: ca.pem, pins:", with: "ca_file: other.pem, pins:")
    try stage.stage.start(text)
    #expect(try stage.stage.get().isRefused("token-unavailable"))
    #expect(stage.tokens.server.finish().allSatisfy { $0.bytes.isEmpty })
    stage.assertSecrets(times: 0)
  }

  /// The API and its token endpoint on one origin, with the same trust: they still have no connection in common, nor has a
  /// service without credential.
  @Test func `T38: no connection carries both a request for a token and one of a program`() throws {
    let canary = Guarded("")
    let stage = try TokenStage { connection in
      while let request = try? connection.readRequest() {
        let isForToken = request.text.hasPrefix("POST /oauth2/token ")
        let body = isForToken ? TokenServer.text(.token(canary.withLock { $0 }, expiresIn: 3)) : ""
        if isForToken { try? connection.write(Array(body.utf8)) } else { connection.answer("hello") }
      }
    }
    canary.withLock { $0 = stage.stage.canary }
    let pins = [stage.stage.leaf.pin, stage.stage.backup.pin]
    try stage.start(
      pins: pins, url: stage.stage.origin + "/oauth2/token",
      services: """
          open:
            upstream: \(stage.stage.origin)/
            ca_file: ca.pem
            pins: [\(pins.joined(separator: ", "))]
            credential: none
        """)
    let isRenewed = eventually {
      _ = try? stage.stage.get("/open/x")
      _ = try? stage.stage.get()
      return stage.stage.recorded.components(separatedBy: "POST /oauth2/token").count > 3
    }
    #expect(isRenewed)
    let texts = stage.stage.upstream.records.map { String(decoding: $0.bytes, as: UTF8.self) }
    for text in texts where text.contains("POST /oauth2/token") {
      #expect(text.components(separatedBy: "HTTP/1.1\r\n").count == 2 && !text.contains("GET "))
      #expect(!text.contains(stage.stage.canary), "the endpoint is not decorated")
    }
    for record in stage.stage.upstream.records where record.isResumed {
      let other = texts[try #require(record.resumedFrom)]
      #expect(other.contains("POST ") == texts[record.connection].contains("POST "))
    }
  }

  @Test(.enabled(if: isRoot && !isSanitized, "only root sees the memory of others"))
  func `T38: what an answer brought lies in memory for secrets, and nowhere else`() throws {
    let stage = try TokenStage()
    let refresh = "REFRESH-" + UUID().uuidString
    stage.tokens.answers(.token(stage.stage.canary, expiresIn: 3600, refresh: refresh))
    let daemon = try stage.start(TokenStage.person)
    #expect(try stage.stage.get().status == 200)
    #expect(try ForeignMemory.places(of: stage.stage.scratch.path, in: daemon.pid) != [], "it can be seen")
    #expect(try ForeignMemory.places(of: refresh, in: daemon.pid) == [])
    #expect(try ForeignMemory.places(of: stage.first, in: daemon.pid) == [])
    #expect(try ForeignMemory.places(of: stage.clientSecret, in: daemon.pid) == [])
    stage.assertSecrets(times: 1)
    stage.stage.assertCanary(times: 0, as: refresh, secret: refresh)
  }
}
