import StatusModel
import TestServer
import Foundation
import ServerSupport
import TestSupport
import Testing

@Suite(.inProcess) struct Probes {
  @Test func `a probe makes a TLS handshake at the start, and sends no request`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(service: "probe: 1h", more: "control: control.sock"))
    #expect(stage.upstream.wait { $0.count == 1 && $0[0].handshakeCompleted })
    #expect(try stage.control("metrics").contains("bearerd_probe_success{service=\"api\"} 1\n"))
    #expect(stage.upstream.records.allSatisfy { $0.bytes.isEmpty })
    #expect(stage.log.lines(of: .probe).isEmpty)
  }

  @Test func `probes repeat, and log a failure and its end once`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(service: "probe: 50ms", more: "control: control.sock"))
    #expect(stage.upstream.wait { $0.count >= 2 })
    try stage.upstream.replaceCertificates([Stage.leaf(issuer: stage.ca)])
    #expect(stage.log.wait(for: .probe, ["refused": "pin-mismatch", "service": "api"]))
    let failed = stage.upstream.records.count
    #expect(stage.upstream.wait { $0.count >= failed + 2 })
    let text = try stage.control("status")
    #expect(text.contains("\"failure\":\"pin-mismatch\""))
    try stage.upstream.replaceCertificates([stage.leaf])
    #expect(stage.log.wait(for: .probe, count: 2))
    #expect(stage.log.lines(of: .probe).map { $0["refused"] } == ["pin-mismatch", nil])
    #expect(stage.upstream.records.allSatisfy { $0.bytes.isEmpty })
  }

  @Test func `without the key there is no probe`() throws {
    let stage = try Stage()
    try stage.start()
    #expect(try stage.get().status == 200)
    #expect(stage.upstream.records.count == 1)
  }
}
