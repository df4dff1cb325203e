import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// Mutual TLS: a credential's certificate goes to that credential's upstream, and no connection has two of them.
@Suite(.waits) struct ClientCertificatesAreShown {
  @Test
  func `a key of another certificate and an old certificate stop a start, and one that others can read is not used`()
    throws
  {
    let mutual = try CertificateStage()
    let stage = mutual.stage
    func said(_ line: String) throws -> String {
      let text = stage.configuration(credential: "bearer: { file: canary.token }\n    \(line)")
      let file = try stage.scratch.write("bearerd.yaml", text, mode: 0o644)
      let result = try run([RunningDaemon.binary("bearerctl"), "check", file])
      return result.output + result.errors
    }
    let path = stage.scratch.path
    #expect(
      try said(CertificateStage.line("robot", key: "other")).contains(
        "error: \(path)/other.key is not the key of the certificate in \(path)/robot.pem"))
    chmod("\(path)/robot.key", 0o644)
    #expect(try said(CertificateStage.line("robot")).contains("others can read or change \(path)/robot.key"))
    try mutual.put(try CertificateStage.made("old", issuer: mutual.authority, notAfter: -60), as: "old")
    #expect(try said(CertificateStage.line("old")).contains("this certificate expired on"))
    try mutual.put(
      try CertificateStage.made("soon", issuer: mutual.authority, notAfter: 86_400 * 3 - 3_600), as: "soon")
    #expect(try said(CertificateStage.line("soon")).contains("this certificate expires in 2 days"))
  }
}
