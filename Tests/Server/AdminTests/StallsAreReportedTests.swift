import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

@Suite(.inProcess) struct StallsAreReported {
  @Test func `T60: a stalled loop is logged once with its slowest step, and counted in metrics and status`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(more: "control: control.sock"))
    #expect(try stage.get().status == 200)
    for _ in 0..<3 { #expect(try stage.control("stall") == "ok\n") }
    #expect(stage.log.wait(for: .loopStalled, ["worker": 1]))
    let metrics = try PrometheusText(String(try stage.control("metrics").dropFirst(3)))
    #expect(try metrics.value("bearerd_loop_stalls_total") >= 3)
    #expect(try metrics.value("bearerd_loop_longest_turn_seconds") >= 0.14)
    #expect(try metrics.value("bearerd_loop_turns_total") > 3)
    #expect(try metrics.value("bearerd_oldest_waiting_request_seconds") == 0)
    let text = try stage.control("status").dropFirst("ok\n".count)
    let status = try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    let loops = try #require(status["loops"] as? [[String: Any]])
    #expect(loops.count == 1 && (loops[0]["stalls"] as? Int).map { $0 >= 3 } == true)
    // The first stall is logged. Later stalls wait for the next line.
    let lines = stage.log.lines(of: .loopStalled)
    #expect(lines.count == 1 && lines[0]["longest-step"] == "control", "\(lines)")
    stage.assertCanary(times: 1)
  }
}
