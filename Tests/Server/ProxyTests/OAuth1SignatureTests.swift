import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

@Suite(.inProcess) struct OAuth1SignatureTests {
  private static let line =
    "oauth1: { consumer_key: consumer, consumer_secret: { file: canary.token }, token: { file: t }, token_secret: { file: ts } }"

  private func stage(_ line: String = line) throws -> Stage {
    let stage = try Stage()
    try stage.scratch.write("t", "token-of-somebody\n")
    try stage.scratch.write("ts", "TOKEN-secret\n")
    try stage.start(stage.configuration(credential: line))
    return stage
  }

  private static let form = "POST /api/f HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/x-www-form-urlencoded\r\n"

  @Test func `T40: a signed request contains the signature and no secret`() throws {
    let stage = try stage()
    #expect(try stage.get("/api/x?b=2&a=1&oauth_token=mine", fields: "Authorization: Bearer mine\r\n").status == 200)
    let head = stage.recorded
    #expect(head.hasPrefix("GET /base/x?b=2&a=1 HTTP/1.1\r\n") && !head.contains("mine"))
    let pattern =
      /Authorization: OAuth oauth_consumer_key="consumer", oauth_nonce="[0-9a-f]{32}", oauth_signature_method="HMAC-SHA1", oauth_timestamp="[0-9]{10}", oauth_token="token-of-somebody", oauth_version="1.0", oauth_signature="[^"]{28,40}"\r\n/
    #expect(head.matches(of: pattern).count == 1)
    stage.assertCanary(times: 0)
    stage.assertCanary(times: 0, as: "TOKEN-secret", secret: "TOKEN-secret")
  }

  private static let json = "POST /api/j HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\n"

  /// Verified with independent code.
  @Test(arguments: [
    ("GET /api/x HTTP/1.1\r\nHost: HOST\r\n\r\n", ""),
    ("DELETE /api/a%20b/%C3%BC?b=2&a=1&a=0&c=%20x+y&d&e=%3D%26 HTTP/1.1\r\nHost: HOST\r\n\r\n", ""),
    (form + "Content-Length: 15\r\n\r\n", "a=1&b=%2B+c&a=0"),
    (form.replacing("/api/f", with: "/api/f?z=1&a=2") + "Content-Length: 3\r\n\r\n", "a=1"),
    (form + "Transfer-Encoding: chunked\r\n\r\n", "3\r\na=1\r\n4\r\n&b=2\r\n0\r\n\r\n"),
    (json + "Content-Length: 7\r\n\r\n", "{\"a\":1}"),
  ])
  func `T40: an independent verifier accepts each signature`(_ head: String, _ body: String) throws {
    let stage = try stage()
    #expect(try stage.request(head, body: body).status == 200)
    let request = try #require(SignedRequest(stage.recorded))
    func isRight(_ secret: String, _ tokenSecret: String, _ origin: String) -> Bool {
      request.isSigned(secret: secret, tokenSecret: tokenSecret, origin: origin)
    }
    #expect(isRight(stage.canary, "TOKEN-secret", stage.origin), "\(stage.recorded)")
    #expect(!isRight("another", "TOKEN-secret", stage.origin) && !isRight(stage.canary, "", stage.origin))
    #expect(!isRight(stage.canary, "TOKEN-secret", "https://localhost"))
  }

  @Test func `T40: the signature covers a query parameter of another credential`() throws {
    let stage = try Stage()
    try stage.scratch.write("t", "token-of-somebody\n")
    try stage.scratch.write("ts", "TOKEN-secret\n")
    try stage.scratch.write("key", "KEY-of-the-application\n")
    try stage.start(
      stage.configuration(
        credential: Self.line
          + "\n  key: { origins: [\"\(stage.origin)\"], query: { name: api_key, value: { file: key } } }"
      ).replacing("credential: canary", with: "credential: [canary, key]"))
    #expect(try stage.get("/api/x?b=2").status == 200)
    #expect(stage.recorded.hasPrefix("GET /base/x?b=2&api_key=KEY-of-the-application HTTP/1.1\r\n"))
    let request = try #require(SignedRequest(stage.recorded))
    #expect(request.isSigned(secret: stage.canary, tokenSecret: "TOKEN-secret", origin: stage.origin))
  }

  @Test(arguments: [
    ("Content-Length: 7\r\n\r\n", ["a=1", "&b=2"], "a=1&b=2"),
    ("Transfer-Encoding: chunked\r\n\r\n", ["3\r\na=1\r\n", "4\r\n&b=2\r\n0\r\n\r\n"], "7\r\na=1&b=2\r\n0\r\n\r\n"),
  ])
  func `a form is buffered and sent in one piece`(_ end: String, _ pieces: [String], _ body: String) throws {
    let stage = try stage()
    let client = try stage.client()
    let port = try stage.daemon!.port()
    for round in 1...2 {
      try client.send(Self.form.replacing("HOST", with: "localhost:\(port)") + end)
      for piece in pieces {
        // Nothing may be sent before the last piece.
        #expect(try stage.get("/api/between").status == 200)
        #expect(stage.recorded.components(separatedBy: "POST").count == round)
        try client.send(piece)
      }
      #expect(try client.response().status == 200)
    }
    let recorded = stage.recorded
    #expect(recorded.components(separatedBy: "\r\n\r\n\(body)").count == 3 || recorded.contains(body))
    #expect(recorded.components(separatedBy: "POST /base/f HTTP/1.1").count == 3)
    stage.assertCanary(times: 0)
  }

  @Test func `a form above the limit is refused, and other bodies are streamed`() throws {
    let stage = try stage()
    let body = String(repeating: "x", count: 65_537)
    let response = try stage.request(Self.form + "Content-Length: \(body.count)\r\n\r\n", body: body)
    #expect(response.status == 413 && response.text.contains("urn:bearerd:error:form-too-large"))
    #expect(stage.upstream.records.isEmpty)
    let json =
      "POST /api/f HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nContent-Length: \(body.count)\r\n\r\n"
    #expect(try stage.request(json, body: body).status == 200)
    #expect(stage.recorded.contains(body))
  }

  @Test func `bearerd sends 100 Continue for a form, and an aborted form is not sent`() throws {
    let stage = try stage()
    let client = try stage.client()
    let port = try stage.daemon!.port()
    let head = Self.form.replacing("HOST", with: "localhost:\(port)")
    try client.send(head + "Expect: 100-continue\r\nContent-Length: 3\r\n\r\n")
    try client.drain()
    #expect(String(decoding: client.received, as: UTF8.self).hasPrefix("HTTP/1.1 100 "))
    #expect(stage.upstream.records.isEmpty)
    try client.send("a=1")
    while !String(decoding: client.received, as: UTF8.self).contains(" 200 OK") { try client.drain() }
    let other = try stage.client()
    try other.send(head + "Expect: 100-continue\r\nContent-Length: 3\r\n\r\n")
    try other.drain()
    other.abort()
    #expect(stage.log.wait(for: .request, ["status": 499]))
    #expect(stage.recorded.components(separatedBy: "POST").count == 2)
  }

  @Test func `PLAINTEXT sends both secrets to the upstream only`() throws {
    let stage = try stage(Self.line.replacing("oauth1: {", with: "oauth1: { signature: plaintext,"))
    #expect(try stage.get().status == 200)
    stage.assertCanary(times: 1, as: "oauth_signature=\"\(stage.canary)%26TOKEN-secret\"\r\n")
  }
}
