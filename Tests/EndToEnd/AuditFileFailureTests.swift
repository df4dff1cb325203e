import Foundation
import Log
import ServerSupport
import StatusModel
import TestSupport
import Testing

/// Full disks and crashes (T58).
@Suite(.waits) struct AuditFileFailureTests {
  @Test func `T58: if records are required, a full disk refuses requests until there is room`() throws {
    let (stage, file) = try Stage.withAudit(required: true)
    let daemon = stage.daemon!
    #expect(try stage.get("/api/before").status == 200)
    #expect(try eventually { try Stage.lines(file).count == 2 })
    let size = try #require(FileManager.default.contents(atPath: file)).count
    limitFiles(of: daemon.pid, to: size + 100)
    // There is no room for the record of this request.
    #expect(try stage.get("/api/last").status == 200)
    #expect(daemon.log.wait(for: .auditFailed))
    for _ in 0..<3 {
      let refused = try stage.get("/api/refused")
      #expect(refused.status == 503 && refused.head.contains("details=\"audit-unavailable\""), "\(refused)")
    }
    #expect(daemon.log.wait(for: .request, ["refused": "audit-unavailable", "detail": .naming("write: ")], count: 3))
    #expect(daemon.log.contains(.auditFailed, ["file": "\(file)", "detail": .naming("write: ")]))
    #expect(try stage.control("status").contains("\"problem\":\"write: File too large\""))
    let explained = try run(
      [RunningDaemon.binary("bearerctl"), "explain", "GET", "/api/x", "--config", daemon.file],
      environment: ["RUNTIME_DIRECTORY": stage.scratch.path, "XDG_RUNTIME_DIR": stage.scratch.path])
    #expect(explained.status == 1 && explained.output.contains("503 audit-unavailable"), "\(explained)")
    let row = try #require(explained.output.split(separator: "\n").first { $0.hasPrefix("  audit ") })
    let text = "\(row)\n"
    #expect(text == (try golden("explain-audit-unavailable.txt", for: text)))
    limitFiles(of: daemon.pid, to: nil)
    #expect(daemon.log.wait(for: .auditWorks))
    #expect(try stage.get("/api/after").status == 200)
    #expect(try eventually { try Stage.lines(file).count == 7 })
    #expect(try stage.verify().status == 0)
    #expect(daemon.stop() == 0)
    let paths = try Stage.lines(file).compactMap {
      $0.firstMatch(of: /path=\/api\/([a-z]+) status/).map { String($0.1) }
    }
    #expect(paths == ["before", "last", "refused", "refused", "refused", "after"])
    try stage.assertCanary(times: 3, notIn: file)
  }

  @Test func `T58: a record that a full disk cut off is written completely to the next file`() throws {
    let (stage, file) = try Stage.withAudit(required: true)
    let daemon = stage.daemon!
    #expect(try stage.get("/api/before").status == 200)
    #expect(try eventually { try Stage.lines(file).count == 2 })
    // A part of the record fits.
    limitFiles(of: daemon.pid, to: try #require(FileManager.default.contents(atPath: file)).count + 150)
    #expect(try stage.get("/api/last").status == 200)
    #expect(daemon.log.wait(for: .auditFailed))
    let other = stage.scratch.path + "/other.log"
    try stage.reload(stage.configuration(more: "audit: { file: other.log, required: true }"))
    limitFiles(of: daemon.pid, to: nil)
    #expect(daemon.log.wait(for: .auditWorks))
    #expect(try stage.get("/api/after").status == 200)
    #expect(daemon.stop() == 0)
    let records = try Stage.lines(other)
    #expect(records.count >= 4 && records[1].contains(" path=/api/last status=200 "), "\(records)")
    let before = try Stage.lines(file)[1].suffix(43)
    #expect(records[0].contains(" previous=\(before) "))
    #expect(try stage.verify().status == 0)
    let old = stage.plain(try stage.verify(file).output)
    #expect(old == (try golden("audit-cut-off.txt", for: old)))
    try stage.assertCanary(times: 3, notIn: other)
  }

  @Test func `T58: if records are not required, a full disk stops no request, and lost records are counted`() throws {
    let (stage, file) = try Stage.withAudit()
    let daemon = stage.daemon!
    #expect(try stage.get().status == 200)
    #expect(try eventually { try Stage.lines(file).count == 2 })
    limitFiles(of: daemon.pid, to: try #require(FileManager.default.contents(atPath: file)).count + 100)
    let client = try RawClient(port: daemon.port())
    let long = String(repeating: "x", count: 1_000)
    for _ in 0..<30 {
      try client.send(
        String(repeating: "GET /\(long) HTTP/1.1\r\nHost: localhost:\(try daemon.port())\r\n\r\n", count: 60))
      for _ in 0..<60 { #expect(try client.response().head.hasPrefix("HTTP/1.1 404 ")) }
    }
    #expect(daemon.log.wait(for: .auditFailed))
    #expect(try stage.get().status == 200)
    func metric(_ name: String) throws -> Double {
      try PrometheusText(String(try stage.control("metrics").dropFirst(3))).value(name)
    }
    let dropped = Int(try metric("bearerd_audit_records_dropped_total"))
    #expect(dropped > 300 && dropped < 1_801, "\(dropped)")
    #expect(try metric("bearerd_audit_working") == 0)
    #expect(!Observed(pid: daemon.pid).spins(), "it tries again, and not all the time")
    limitFiles(of: daemon.pid, to: nil)
    #expect(daemon.log.wait(for: .auditWorks))
    #expect(try eventually { try metric("bearerd_audit_working") == 1 })
    #expect(daemon.stop() == 0)
    let lines = try Stage.lines(file)
    #expect(lines.contains { $0.contains(" event=dropped count=\(dropped) chain=") })
    // The records `opened`, `dropped` and `closed`, and the requests that were not dropped.
    #expect(lines.count == 3 + 1_802 - dropped)
    #expect(try stage.verify().status == 0)
    try stage.assertCanary(times: 2, notIn: file)
  }

  @Test func `T58: a second daemon cannot use an audit file, and the next start after a crash continues it`() throws {
    let (stage, file) = try Stage.withAudit()
    let second = try stage.fail(
      stage.configuration(more: "audit: { file: audit.log }\ncontrol: other.sock"))
    #expect(second.status == 71)
    let errors = stage.plain(second.errors)
    #expect(errors == (try golden("audit-second-daemon.txt", for: errors)))
    #expect(try Stage.lines(file).count == 1)

    let client = try RawClient(port: stage.daemon!.port())
    let port = try stage.daemon!.port()
    for _ in 0..<50 { try client.send("GET /nothing HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n") }
    _ = try client.response()
    #expect(try eventually { try Stage.lines(file).count > 5 })
    #expect(stage.daemon!.stop(SIGKILL) == -SIGKILL)
    // An incomplete last line, as after a power failure.
    let handle = try #require(FileHandle(forWritingAtPath: file))
    try handle.truncate(atOffset: try handle.seekToEnd() - 20)
    func plain(_ text: String) -> String { stage.plain(text).replacing(/n=\d+|\d+ records/, with: "NUMBER") }
    let incomplete = plain(try stage.verify().output)
    #expect(incomplete == (try golden("audit-after-crash.txt", for: incomplete)))
    try stage.start(stage.configuration(more: "audit: { file: audit.log }"))
    #expect(try stage.get().status == 200)
    #expect(try eventually { try Stage.lines(file).last?.contains(" status=200 ") == true })
    let result = try stage.verify()
    #expect(result.status == 0)
    let continued = plain(result.output)
    #expect(continued == (try golden("audit-continued.txt", for: continued)))
    #expect(stage.daemon!.stop() == 0)
    try stage.assertCanary(times: 1, notIn: file)
  }
}
