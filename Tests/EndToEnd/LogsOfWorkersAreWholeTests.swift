import StatusModel
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// The workers of a daemon share standard error and the audit file.
@Suite(.waits) struct LogsOfWorkersAreWhole {
  @Test func `T48 T58: the log lines of all workers are complete, and their audit records form one chain`() throws {
    let stage = try Stage()
    try stage.start(
      stage.configuration(more: "control: control.sock\nworkers: 4\naudit: { file: audit.log, required: true }"))
    let (port, long) = (try stage.daemon!.port(), String(repeating: "long/", count: 200))
    let load = SteadyLoad(callers: 8, port: port) { client, number in
      try client.send("GET /api/\(long)\(number) HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n")
      let head = try client.response().head
      return head.hasPrefix("HTTP/1.1 200 ") ? nil : head
    }
    try load.waitForResponses(isSanitized ? 200 : 1_000)
    #expect(load.stop() == [])
    let completed = load.responseCount.count
    #expect(try stage.verify().status == 0)
    #expect(stage.daemon!.stop() == 0)
    let isWhole = stage.log.lines.allSatisfy { line in
      line.fields.prefix(3).map(\.name) == ["time", "level", "event"] && line.fields.count { $0.name == "time" } == 1
    }
    #expect(isWhole && stage.log.lines.count == stage.log.bytes.count { $0 == UInt8(ascii: "\n") })
    #expect(stage.log.lines(of: .request).count == completed, "each has its line")
    let records = try Stage.lines(stage.scratch.path + "/audit.log")
    #expect(records.count { $0.contains("event=request") } == completed, "each has its record")
    stage.assertCanary(times: completed)
  }
}
