import StatusModel
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

@Suite(.inProcess) struct RefusalLogLimitTests {
  @Test func `T58: refused callers get a limited number of log lines, and the metrics count all refusals`() throws {
    let stage = try Stage()
    try stage.start(
      stage.configuration(more: "control: control.sock").replacing("[\(getuid())]", with: "[\(getuid() + 1)]"))
    // bearerd closes each connection after the response.
    for _ in 0..<200 { #expect(try stage.get().status == 403) }
    let metrics = try PrometheusText(String(try stage.control("metrics").dropFirst(3)))
    #expect(try metrics.value("bearerd_refusals_total", ["service": "", "code": "caller-not-allowed"]) == 200)
    let lines = stage.log.lines(of: .request, ["refused": "caller-not-allowed"]).count
    // At most 50 lines per interval of ten seconds. On a slow machine, a second interval may begin.
    #expect((50...100).contains(lines), "\(lines)")
    stage.assertCanary(times: 0)
  }
}
