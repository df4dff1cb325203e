import Foundation
import Log
import ServerSupport
import StatusModel
import TestSupport
import Testing

@Suite(.waits) struct DrainTests {
  @Test func `a daemon that is still connecting to an upstream can exit, and refuses the pending requests`() throws {
    let hole = try BlackHole()
    let stage = try Stage()
    let text = stage.configuration(more: "limits: { drain: 200ms }")
    let daemon = try stage.start(text.replacingOccurrences(of: stage.origin, with: "https://127.0.0.1:\(hole.port)"))
    let process = Observed(pid: daemon.pid)
    let before = process.descriptors
    let (head, waiting) = (try stage.raw(), try stage.raw())
    #expect(eventually { process.descriptors >= before + 2 }, "\(before) and now \(process.descriptors)")
    let connected = process.descriptors
    try head.send("GET /half")
    try waiting.send(stage.head("GET"))
    #expect(eventually { process.descriptors > connected }, "no connection is being made")
    #expect(daemon.stop() == 0)
    for client in [waiting, head] {
      let (response, ending) = client.rest()
      let text = String(decoding: response, as: UTF8.self)
      #expect(text.hasPrefix("HTTP/1.1 503 "), "\(text)")
      #expect(
        text.contains("Proxy-Status: bearerd; error=connection_limit_reached; details=\"draining\"\r\n"), "\(text)")
      #expect(text.contains("urn:bearerd:error:draining"), "\(text)")
      #expect(ending == .clean)
    }
    #expect(daemon.log.lines(of: .request, ["refused": "draining"]).count == 2)
    stage.assertCanary(times: 0)
  }
}
