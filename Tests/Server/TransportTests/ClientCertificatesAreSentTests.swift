import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// Mutual TLS: a client certificate is sent only to its credential's upstream, and a connection has at most one.
@Suite(.inProcess) struct ClientCertificatesAreSent {
  @Test(arguments: [0x0303, 0x0304] as [Int32])
  func `T25: an upstream that requires a client certificate gets one, with or without a token`(_ version: Int32) throws
  {
    let mutual = try CertificateStage(tlsVersion: version)
    let stage = mutual.stage
    let alone =
      "  alone:\n    upstream: \(stage.origin)/alone/\n    ca_file: ca.pem\n    credential: alone"
    let text = stage.configuration(
      credential: "bearer: { file: canary.token }\n    \(CertificateStage.line("robot"))\n  alone:\n"
        + "    origins: [\"\(stage.origin)\"]\n    \(CertificateStage.line("other"))",
      services: alone)
    try stage.start(text)
    for _ in 0..<3 {
      #expect(try stage.get().status == 200)
      #expect(try stage.get("/alone/x").status == 200)
    }
    #expect(mutual.names == ["robot", "other"], "each on its own connection, which is kept")
    let second = String(decoding: stage.upstream.records[1].bytes, as: UTF8.self)
    #expect(!second.contains("Authorization"))
    stage.assertCanary(times: 3)
    stage.assertCanary(times: 0, as: "PRIVATE KEY", secret: "PRIVATE KEY")
  }

  @Test func `a client certificate with an encrypted key is sent`() throws {
    let mutual = try CertificateStage()
    let stage = mutual.stage
    let certificate = try CertificateStage.made("locked", issuer: mutual.authority)
    try mutual.put(certificate, as: "locked")
    try stage.scratch.write("locked.key", certificate.keyPEM(passphrase: "swordfish"))
    try stage.scratch.write("word", "swordfish\n")
    let line = CertificateStage.line("locked", passphrase: "word")
    try stage.start(stage.configuration(credential: "bearer: { file: canary.token }\n    \(line)"))
    #expect(try stage.get().status == 200)
    #expect(mutual.names == ["locked"])
    stage.assertCanary(times: 0, as: "the passphrase", secret: "swordfish")
  }

  @Test func `T25: an upstream with a wrong pin gets neither the client certificate nor a byte`() throws {
    let mutual = try CertificateStage(requires: false)
    let stage = mutual.stage
    let other = [try Stage.leaf(issuer: stage.ca).pin, stage.backup.pin]
    try stage.start(
      stage.configuration(
        credential: "bearer: { file: canary.token }\n    \(CertificateStage.line("robot"))", pins: other))
    #expect(try stage.get().text.contains("urn:bearerd:error:pin-mismatch"))
    let records = stage.upstream.finish()
    #expect(records.map(\.clientName) == [nil] && records.allSatisfy { $0.bytes.isEmpty })
    stage.assertCanary(times: 0)
  }

  @Test func `a reload uses a renewed client certificate and closes connections with the old certificate`() throws {
    let mutual = try CertificateStage()
    let stage = mutual.stage
    let text = stage.configuration(
      credential: "bearer: { file: canary.token }\n    \(CertificateStage.line("robot"))")
    try stage.start(text)
    #expect(try stage.get().status == 200)
    try mutual.put(try CertificateStage.made("renewed", issuer: mutual.authority), as: "robot")
    #expect(try stage.get().status == 200)
    try stage.reload(text)
    #expect(try stage.get().status == 200)
    #expect(mutual.names == ["robot", "renewed"])
    #expect(stage.upstream.wait { $0.first?.isFinished == true }, "the old one is closed")
    stage.assertCanary(times: 3)
  }

  @Test func `without a client certificate the log has the TLS error`() throws {
    let mutual = try CertificateStage()
    let stage = mutual.stage
    try stage.start()
    #expect(try stage.get().status == 502)
    #expect(stage.log.wait(for: .request, ["status": 502, "detail": .present]))
  }

  @Test func `T40: a missing private key leads to 503, and no connection is opened`() throws {
    let mutual = try CertificateStage()
    let stage = mutual.stage
    let text = stage.configuration(
      credential: "bearer: { file: canary.token }\n    \(CertificateStage.line("robot", key: "later"))")
    try stage.start(text)
    let response = try stage.get()
    #expect(response.status == 503 && response.text.contains("urn:bearerd:error:credential-unavailable"))
    #expect(stage.upstream.records.isEmpty)
    try stage.scratch.write("later.key", try String(contentsOfFile: stage.scratch.path + "/robot.key", encoding: .utf8))
    try stage.reload(text)
    #expect(try stage.get().status == 200)
    #expect(mutual.names == ["robot"])
    stage.assertCanary(times: 1)
  }

  @Test func `a token endpoint with tls_client_auth gets the client certificate instead of a secret`() throws {
    let mutual = try CertificateStage()
    let stage = mutual.stage
    var options = UpstreamServer.Options()
    options.clientAuthorities = [mutual.authority]
    options.requiresClientCertificate = true
    let tokens = try TokenServer(Stage.leaf(issuer: stage.ca), options: options)
    tokens.respond(with: .token(stage.canary, expiresIn: 3600))
    let oauth2 =
      "token_url: \(tokens.url), grant: client_credentials, client_id: robot, client_auth: tls_client_auth, ca_file: ca.pem"
    try stage.start(
      stage.configuration(credential: "oauth2: { \(oauth2) }\n    \(CertificateStage.line("robot"))"))
    #expect(try stage.get().status == 200)
    #expect(tokens.server.records.map(\.clientName) == ["robot"] && mutual.names == ["robot"])
    #expect(tokens.forms.map { $0["client_id"] } == ["robot"])
    #expect(tokens.forms.allSatisfy { $0["client_secret"] == nil && $0["client_assertion"] == nil })
    stage.assertCanary(times: 1)
  }
}
