import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// Client secrets and refresh tokens are sent only to the token endpoint (T38).
@Suite(.inProcess) struct TokenEndpointsAreSeparate {
  @Test(arguments: [301, 302, 303, 307, 308])
  func `T38: a redirect of the token endpoint is not followed`(status: Int) throws {
    let stage = try TokenStage()
    let evil = try TokenServer(Stage.leaf(issuer: stage.stage.ca))
    evil.respond(with: .token("s3cret", expiresIn: 3600))
    stage.tokens.respond(with: .raw("HTTP/1.1 \(status) X\r\nLocation: \(evil.url)\r\nContent-Length: 0\r\n\r\n"))
    try stage.start()
    #expect(try stage.stage.get().isRefused("token-unavailable"))
    #expect(evil.server.records.isEmpty && stage.stage.upstream.records.isEmpty)
    #expect(stage.tokens.requests.count == 1)
    stage.assertSecrets(times: 0)
  }

  @Test func `T38: a token endpoint whose key is not pinned gets no data`() throws {
    let stage = try TokenStage()
    try stage.start(pins: [stage.stage.leaf.pin, stage.stage.backup.pin])
    #expect(try stage.stage.get().isRefused("token-unavailable"))
    #expect(stage.log.wait(for: .tokenFailed, ["detail": .naming("pin-mismatch")]))
    let records = stage.tokens.server.finish()
    #expect(!records.isEmpty && records.allSatisfy { $0.bytes.isEmpty })
    stage.assertSecrets(times: 0)
  }

  @Test func `T38: a token endpoint is trusted only with its own ca_file`() throws {
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

  /// The API, its token endpoint and a service without credential have the same origin and the same trust.
  @Test func `T38: token requests and requests of programs never share a connection`() throws {
    let canary = Guarded("")
    let stage = try TokenStage { connection in
      while let request = try? connection.readRequest() {
        let isForToken = request.text.hasPrefix("POST /oauth2/token ")
        let body = isForToken ? TokenServer.text(.token(canary.withLock { $0 }, expiresIn: 3)) : ""
        if isForToken { try? connection.write(Array(body.utf8)) } else { connection.respond("hello") }
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
}
