import Audit
import EventLoop
import Foundation
import Settings
import StatusModel
import TestSupport
import Testing

@testable import Configuration
@testable import Log

@Suite struct AuditTrailTests {
  let scratch: Scratch
  let pipe: LogPipe
  let log: EventLog
  let loop: Loop
  let trail: AuditTrail

  init() throws {
    scratch = try Scratch()
    pipe = try LogPipe()
    log = EventLog(hasPriorities: true, sink: pipe.sink)
    loop = try Loop()
    trail = AuditTrail(loop: loop, log: log)
  }

  private func settings(_ name: String = "audit.log", required: Bool = false) -> AuditSettings {
    AuditSettings(file: scratch.path + "/" + name, isRequired: required)
  }

  private func change(_ settings: AuditSettings?) throws -> AuditTrail.Change {
    try AuditTrail.Change(for: settings, of: "bearerd.yaml", from: trail.file)
  }

  /// Logs a line that is an audit record.
  private func record(_ number: Int) throws {
    let start = log.bufferedBytes
    guard var line = log.begin(.info, isRecord: true) else { throw TestFailure("no room") }
    line.raw(" event=request")
    line.field("number", number)
    log.end(line)
    log.record(from: start, isGuaranteed: false)
    log.flush()
  }

  private func records(_ name: String = "audit.log") throws -> [String] {
    try String(contentsOfFile: scratch.path + "/" + name, encoding: .utf8).split(separator: "\n").map(String.init)
      .filter { $0.contains("number=") }
  }

  private func end() {
    trail.close()
    while loop.runOnce(waiting: false) {}
  }

  @Test func `T58: closing the trail writes all records to the file, in order`() throws {
    try trail.adopt(try change(settings()))
    #expect(log.hasAudit && log.requiredAudit == nil)
    for number in 0..<100 { try record(number) }
    end()
    #expect(try records().count == 100)
    for (number, line) in try records().enumerated() { #expect(line.contains("number=\(number)"), "\(line)") }
    #expect(!log.hasAudit)
    log.flush()
    let said = pipe.lines().filter { $0.contains("event=audit ") }
    #expect(said.last?.contains("file=\(scratch.path)/audit.log n=") == true, "\(said)")
  }

  @Test func `a reload keeps an audit file in its place and replaces a moved file`() throws {
    try trail.adopt(try change(settings()))
    try record(1)
    #expect(try eventually { try records().count == 1 })
    let first = trail.file
    guard case .keep = try change(settings(required: true)) else { Issue.record("opened again"); return end() }
    try trail.adopt(try change(settings(required: true)))
    #expect(trail.file?.path == first?.path && log.requiredAudit != nil)
    #expect(rename(scratch.path + "/audit.log", scratch.path + "/audit.log.1") == 0)
    guard case .open = try change(settings()) else { Issue.record("kept what is elsewhere"); return end() }
    try trail.adopt(try change(settings()))
    try record(2)
    end()
    #expect(try records("audit.log.1").map { $0.contains("number=1") } == [true])
    #expect(try records().map { $0.contains("number=2") } == [true])
  }

  @Test func `without an audit file nothing is recorded`() throws {
    try trail.adopt(try change(nil))
    try record(1)
    #expect(trail.file == nil && log.auditProblem == nil)
    try trail.adopt(try change(settings()))
    try record(2)
    try trail.adopt(try change(nil))
    #expect(!log.hasAudit)
    trail.closeRetired()
    // The writer thread reports when it has ended.
    #expect(
      try eventually {
        loop.runOnce(waiting: false)
        return try records().count == 1
      })
    end()
  }

  @Test func `an unusable audit file is a configuration error that names the key`() throws {
    try scratch.write("open/x", "", mode: 0o644)
    chmod(scratch.path + "/open", 0o777)
    #expect {
      _ = try change(settings("open/audit.log"))
    } throws: { error in
      "\(error)".contains("audit.file: ") && "\(error)".contains("bearerd.yaml")
    }
    #expect(trail.file == nil)
  }
}
