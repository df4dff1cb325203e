import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// With `credential: [a, b]`, a request gets both credentials, or is not sent.
@Suite(.inProcess) struct CredentialPairTests {
  private func configuration(_ stage: Stage, key: String = "origins: [ORIGIN]", more: String = "") -> String {
    let key = key.replacing("ORIGIN", with: "\"\(stage.origin)\"")
    return stage.configuration(
      credential: "bearer: { file: canary.token }\n  key:\n    \(key)\n"
        + "    headers: [{ name: X-Api-Key, value: { file: key.token } }]",
      more: more
    ).replacing("credential: canary", with: "credential: [key, canary]")
  }

  @Test func `a request gets both credentials, and both are masked in the response`() throws {
    let stage = try Stage { connection in
      while let request = try? connection.readRequest() {
        let fields = request.text.components(separatedBy: "\r\n").filter {
          $0.hasPrefix("Authorization") || $0.hasPrefix("X-Api-Key")
        }
        connection.respond("ok", fields: fields.enumerated().map { "X-Echo-\($0): \($1)\r\n" }.joined())
      }
    }
    let second = stage.canary.replacing("CANARY", with: "SECOND")
    try stage.scratch.write("key.token", second + "\n")
    try stage.start(configuration(stage))
    for _ in 0..<2 {
      let response = try stage.get(fields: "X-Api-Key: mine\r\nAuthorization: Bearer mine\r\n")
      #expect(response.status == 200)
      #expect(response.values("X-Echo-0").first?.contains("***") == true)
      #expect(response.values("X-Echo-1").first?.contains("***") == true)
    }
    stage.assertCanary(times: 2)
    stage.assertCanary(times: 2, as: "X-Api-Key: \(second)\r\n", secret: second)
    #expect(!stage.recorded.contains("mine") && stage.upstream.records.count == 1)
  }

  @Test func `T40: no request is sent while one of two credentials is missing`() throws {
    let stage = try Stage()
    try stage.start(configuration(stage))
    #expect(try stage.get().text.contains("urn:bearerd:error:credential-unavailable"))
    #expect(stage.upstream.records.isEmpty)
    try stage.scratch.write("key.token", "SECOND-secret\n")
    #expect(try eventually { try stage.get().status == 200 })
    stage.assertCanary(times: 1)
  }

  @Test func `T10: a caller who may not use one of two credentials is refused`() throws {
    let stage = try Stage()
    try stage.scratch.write("key.token", "SECOND-secret\n")
    try stage.start(configuration(stage, key: "origins: [ORIGIN]\n    allow_users: [4242]"))
    #expect(try stage.get().status == 403)
    #expect(stage.upstream.records.isEmpty)
    stage.assertCanary(times: 0)
  }

  @Test func `a rejected pair of credentials is suspended, and each credential can still be used separately`() throws {
    let stage = try Stage { connection in
      while let request = try? connection.readRequest() {
        connection.respond("x", status: request.text.contains("X-Api-Key") ? "401 Unauthorized" : "200 OK")
      }
    }
    try stage.scratch.write("key.token", "SECOND-secret\n")
    let alone = "  alone:\n    upstream: \(stage.origin)/\n    ca_file: ca.pem\n    credential: canary\n"
    let text = configuration(stage).replacing("\nservices:\n", with: "\nservices:\n\(alone)")
    try stage.start(text)
    for _ in 0..<5 { #expect(try stage.get().status == 401) }
    #expect(try stage.get().text.contains("urn:bearerd:error:credential-suspended"))
    #expect(try stage.get("/alone/x").status == 200)
    stage.assertCanary(times: 6)
  }

  @Test func `T41: a rejection of a key and a token renews the token and retries the request with both`() throws {
    let next = "NEXT-" + UUID().uuidString
    let stage = try TokenStage { connection in
      while let request = try? connection.readRequest() {
        let isGood =
          request.text.contains("Bearer \(next)\r\n") && request.text.contains("X-Api-Key: SECOND-secret\r\n")
        connection.respond(
          "x", status: isGood ? "200 OK" : "401 Unauthorized",
          fields: isGood ? "" : "WWW-Authenticate: Bearer error=\"invalid_token\"\r\n")
      }
    }
    stage.tokens.respond(with: [.token(stage.stage.canary, expiresIn: 3600), .token(next, expiresIn: 3600)])
    try stage.stage.scratch.write("key.token", "SECOND-secret\n")
    let key =
      "  key:\n    origins: [\"\(stage.stage.origin)\"]\n"
      + "    headers: [{ name: X-Api-Key, value: { file: key.token } }]\nservices:\n"
    let text = stage.configuration().replacing("\nservices:\n", with: "\n" + key)
      .replacing("credential: canary", with: "credential: [canary, key]")
    try stage.stage.start(text)
    for _ in 0..<3 { #expect(try stage.stage.get().status == 200) }
    #expect(stage.tokens.requests.count == 2)
    stage.assertSecrets(times: 1)
    stage.stage.assertCanary(times: 3, as: "Authorization: Bearer \(next)\r\n", secret: next)
    stage.stage.assertCanary(times: 4, as: "X-Api-Key: SECOND-secret\r\n", secret: "SECOND-secret")
  }

  @Test func `T25: a certificate with a token uses other connections than the token without the certificate`() throws {
    let mutual = try CertificateStage(requires: false)
    let stage = mutual.stage
    let robot = "  robot:\n    origins: [\"\(stage.origin)\"]\n    \(CertificateStage.line("robot"))\nservices:\n"
    let alone = "  alone:\n    upstream: \(stage.origin)/\n    ca_file: ca.pem\n    credential: canary\n"
    let text = stage.configuration().replacing("credential: canary", with: "credential: [robot, canary]")
      .replacing("\nservices:\n", with: "\n" + robot + alone)
    try stage.start(text)
    for _ in 0..<2 {
      #expect(try stage.get().status == 200)
      #expect(try stage.get("/alone/x").status == 200)
    }
    #expect(mutual.names == ["robot", nil])
    stage.assertCanary(times: 4)
  }

  @Test func `T51: a reload that weakens the checks for a pair of credentials logs both credentials`() throws {
    let stage = try Stage()
    try stage.scratch.write("key.token", "SECOND-secret\n")
    let text = configuration(stage)
    try stage.start(text)
    let loose = "  loose:\n    upstream: \(stage.origin)/\n    ca_file: ca.pem\n    credential: [key, canary]\n"
    try stage.reload(text.replacing("\nservices:\n", with: "\nservices:\n\(loose)"))
    for name in ["canary", "key"] {
      #expect(stage.log.wait(for: .credentialRebound, ["credential": "\(name)", "added": .present]))
    }
    #expect(!stage.log.contains(.credentialRebound, ["credential": "canary+key", "added": .present]))
  }
}
