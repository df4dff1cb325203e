import DemoUpstream
import Foundation
import TestSupport
import Testing

/// What becomes of an upstream's name, with a name server of the test's own.
@Suite(.enabled(if: NameServer.isPossible, "needs root, and mounts"))
struct NamesAreLookedUp {
  private func check(_ answer: NameServer.Answer, status: Int, code: String, error: String) throws {
    let stage = try Stage()
    let server = try NameServer(answer, in: stage.scratch)
    defer { server.stop() }
    let text = stage.configuration(service: "timeouts: { connect: 700ms }")
      .replacing("https://localhost:", with: "https://upstream.invalid:")
    try stage.start(text, wrapper: server.wrapper)
    let response = try stage.get()
    #expect(response.status == status, "\(response.text)")
    #expect(response.values("Proxy-Status") == ["bearerd; error=\(error); details=\"\(code)\""])
    #expect(response.text.contains("\"help\":\"bearerctl errors \(code)\""), "\(response.text)")
    #expect(stage.daemon!.waitForLog("refused=\(code)"))
    #expect(stage.upstream.records.isEmpty)
    stage.assertCanary(times: 0)
  }

  @Test func `a name that does not exist`() throws {
    try check(.notFound, status: 502, code: "name-not-found", error: "dns_error")
  }

  @Test func `a name server that does not answer`() throws {
    try check(.silence, status: 504, code: "name-timeout", error: "dns_timeout")
  }

  /// Loopback, where other programs of the machine listen, and the metadata service of the large clouds.
  @Test(arguments: [NameServer.Answer.address(127, 0, 0, 1), .address(169, 254, 169, 254)])
  func `T28: a name server that leads the credential astray`(answer: NameServer.Answer) throws {
    try check(answer, status: 502, code: "address-forbidden", error: "destination_ip_prohibited")
  }
}
