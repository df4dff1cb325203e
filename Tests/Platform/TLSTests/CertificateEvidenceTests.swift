import TestServer
import Policy
import TLS
import TestSupport
import Testing

/// The certificates of a failed verification, for reports.
@Suite struct CertificateEvidenceTests {
  let authority: Authority
  let leaf: Certificate
  let backup: Certificate

  init() throws {
    authority = try Authority()
    leaf = try authority.leaf()
    backup = try selfSigned()
  }

  private func evidence(
    _ chain: [Certificate], _ pinning: PinPolicy = PinPolicy(), host: String = "upstream.test"
  ) throws -> CertificateEvidence? {
    let recorder = EvidenceRecorder()
    let server = try UpstreamServer(chain: chain, handler: echo)
    defer { server.stop() }
    let context = try context(authority.store(), host: host, pinning: pinning)
    do {
      var client = try Client.connect(context, port: server.port, evidence: recorder)
      client.closeNotify()
    } catch is TLSError {}
    let evidence = recorder.take()
    #expect(recorder.take() == nil)
    return evidence
  }

  private func der(_ certificates: Certificate...) -> [[UInt8]] {
    certificates.map { decoded($0.pem) }
  }

  @Test func `a wrong pin gives the served and the verified chain, also in report mode`() throws {
    for mode in [PinPolicy.Mode.enforce, .report] {
      let found = try #require(try evidence([leaf, authority.intermediate], pinning(backup, mode: mode)))
      #expect(found.served == der(leaf, authority.intermediate))
      #expect(found.validated == der(leaf, authority.intermediate, authority.root))
      #expect(found.fingerprint.count == 32)
      #expect((found.leafEnds ?? 0) > unixTime())
    }
  }

  @Test func `a chain that is not verified gives only the served certificates`() throws {
    let stranger = try #require(try evidence([backup]))
    #expect(stranger.served == der(backup) && stranger.validated.isEmpty)
    let otherHost = try #require(try evidence([leaf, authority.intermediate], host: "other.test"))
    #expect(otherHost.served == der(leaf, authority.intermediate) && otherHost.validated.isEmpty)
    #expect(stranger.fingerprint != otherHost.fingerprint)
  }

  @Test func `a successful verification gives nothing`() throws {
    #expect(try evidence([leaf, authority.intermediate]) == nil)
    #expect(try evidence([leaf, authority.intermediate], pinning(leaf, backup)) == nil)
  }
}
