import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

@Suite(.waits) struct BadClientCertificatesAreReported {
  @Test
  func `check reports a wrong key, a key that others can read, and certificates that expire`()
    throws
  {
    let mutual = try CertificateStage()
    let stage = mutual.stage
    func check(_ line: String) throws -> String {
      let text = stage.configuration(credential: "bearer: { file: canary.token }\n    \(line)")
      let file = try stage.scratch.write("bearerd.yaml", text, mode: 0o644)
      let result = try run([RunningDaemon.binary("bearerctl"), "check", file])
      return result.output + result.errors
    }
    let path = stage.scratch.path
    #expect(
      try check(CertificateStage.line("robot", key: "other")).contains(
        "error: \(path)/other.key is not the key of the certificate in \(path)/robot.pem"))
    chmod("\(path)/robot.key", 0o644)
    #expect(try check(CertificateStage.line("robot")).contains("others can read or change \(path)/robot.key"))
    try mutual.put(try CertificateStage.made("old", issuer: mutual.authority, notAfter: -60), as: "old")
    #expect(try check(CertificateStage.line("old")).contains("this certificate expired on"))
    try mutual.put(
      try CertificateStage.made("soon", issuer: mutual.authority, notAfter: 86_400 * 3 - 3_600), as: "soon")
    #expect(try check(CertificateStage.line("soon")).contains("this certificate expires in 2 days"))
    let locked = try CertificateStage.made("locked", issuer: mutual.authority)
    try mutual.put(locked, as: "locked")
    try stage.scratch.write("locked.key", locked.keyPEM(passphrase: "swordfish"))
    try stage.scratch.write("right", "swordfish\n")
    try stage.scratch.write("wrong", "swordfisg\n")
    #expect(
      try check(CertificateStage.line("locked")).contains(
        "error: \(path)/locked.key is encrypted: add passphrase: { file: NAME }"))
    #expect(
      try check(CertificateStage.line("locked", passphrase: "wrong")).contains(
        "error: \(path)/locked.key cannot be decrypted: the passphrase is wrong"))
    #expect(try check(CertificateStage.line("locked", passphrase: "none")).contains("\(path)/none not found"))
    #expect(try !check(CertificateStage.line("locked", passphrase: "right")).contains("error:"))
  }
}
