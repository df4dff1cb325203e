import TestServer
import ServerSupport
import TestSupport
import Testing

@Suite(.waits) struct WrongPinSendsNoCredential {
  @Test func `T22 T23: a chain that is valid but not pinned gets no byte`() throws {
    let stage = try Stage()
    let other = [try Stage.leaf(issuer: stage.ca).pin, stage.backup.pin]
    try stage.start(stage.configuration(pins: other))
    let answer = try stage.get()
    #expect(answer.status == 502)
    #expect(answer.text.contains("urn:bearerd:error:pin-mismatch"))
    #expect(answer.values("Proxy-Status") == ["bearerd; error=tls_certificate_error; details=\"pin-mismatch\""])
    #expect(stage.upstream.finish().allSatisfy { $0.bytes.isEmpty })
    stage.assertCanary(times: 0)
  }
}
