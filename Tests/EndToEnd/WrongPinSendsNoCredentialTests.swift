import TestServer
import ServerSupport
import TestSupport
import Testing

@Suite(.waits) struct WrongPinSendsNoCredential {
  @Test func `T22 T23: an upstream with a valid but not pinned chain gets no data`() throws {
    let stage = try Stage()
    let other = [try Stage.leaf(issuer: stage.ca).pin, stage.backup.pin]
    try stage.start(stage.configuration(pins: other))
    let response = try stage.get()
    #expect(response.status == 502)
    #expect(response.text.contains("urn:bearerd:error:pin-mismatch"))
    #expect(response.values("Proxy-Status") == ["bearerd; error=tls_certificate_error; details=\"pin-mismatch\""])
    #expect(stage.upstream.finish().allSatisfy { $0.bytes.isEmpty })
    stage.assertCanary(times: 0)
  }
}
