import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// The disk of the audit file stops answering, neither taking a record nor refusing one (T58).
@Suite(.waits) struct DisksThatStopAnswering {
  private func start(_ stage: Stage, required: Bool) throws -> StallingDisk {
    let disk = try StallingDisk(stage.scratch.path + "/disk")
    do {
      try stage.start(configuration(stage, required: required))
      return disk
    } catch {
      disk.end()
      throw error
    }
  }

  private func configuration(_ stage: Stage, required: Bool) -> String {
    stage.configuration(more: "audit: { file: disk/audit.log\(required ? ", required: true" : "") }")
  }

  private func assertCanary(_ stage: Stage) {
    stage.assertCanary(times: stage.recorded.components(separatedBy: stage.canary).count - 1)
  }

  private func isRefused(_ stage: Stage) throws -> Bool {
    try stage.get("/api/again").head.contains("details=\"audit-unavailable\"")
  }

  @Test(.enabled(if: isRoot, "mounts are for root"))
  func `T58: a disk that is silent refuses requests where records are required, until it answers`() throws {
    let stage = try Stage()
    let disk = try start(stage, required: true)
    defer { disk.end() }
    #expect(try stage.get("/api/before").status == 200)
    #expect(eventually { disk.lines.count == 2 })
    disk.become(.silent)
    // Its record is the one that is waited for.
    #expect(try stage.get("/api/last").status == 200)
    #expect(try eventually(seconds: 20) { try isRefused(stage) })
    let sent = stage.upstream.records.count
    for _ in 0..<3 { #expect(try isRefused(stage)) }
    #expect(stage.upstream.records.count == sent, "nothing goes out")
    let status = try stage.control("status")
    #expect(
      status.contains("\"problem\":\"the file system has not responded for ") && !status.contains("\"refusing\":null"))
    #expect(disk.lines.count == 2)
    disk.become(.answering)
    #expect(try eventually { try stage.get("/api/after").status == 200 })
    #expect(stage.daemon!.stop() == 0)
    // All that was promised is there.
    for path in ["before", "last", "again", "after"] {
      #expect(disk.lines.contains { $0.contains(" path=/api/\(path) ") }, "\(path)")
    }
    #expect(try stage.verify().status == 0)
    assertCanary(stage)
  }

  @Test(.enabled(if: isRoot, "mounts are for root"))
  func `T58: a disk that is silent delays no request where records are not required`() throws {
    let stage = try Stage()
    let disk = try start(stage, required: false)
    defer { disk.end() }
    disk.become(.untilWritten)
    #expect(try stage.get().status == 200)
    #expect(eventually { disk.hasStalled })
    #expect(try eventually(seconds: 20) { try stage.control("status").contains("has not responded for") })
    for _ in 0..<3 { #expect(try stage.get().status == 200) }
    disk.become(.answering)
    #expect(eventually { disk.lines.count == 5 })
    #expect(stage.daemon!.stop() == 0)
    assertCanary(stage)
  }

  @Test(.enabled(if: isRoot && !isSanitized, "mounts are for root; a sanitizer waits for the thread"))
  func `T58: SIGTERM ends it though the disk is silent, and what is lost is told`() throws {
    let stage = try Stage()
    let disk = try start(stage, required: true)
    defer { disk.end() }
    #expect(eventually { disk.lines.count == 1 })
    disk.become(.silent)
    #expect(try stage.get().status == 200)
    // `stop` waits for longer than the ten seconds that the disk has, but not without end.
    #expect(stage.daemon!.stop() == 0)
    #expect(stage.log.contains(.auditLost, ["detail": .present]))
    #expect(disk.lines.count == 1)
    assertCanary(stage)
  }

  @Test(.enabled(if: isRoot, "mounts are for root"))
  func `T55: a reload whose audit file takes no first record delays no request`() throws {
    let stage = try Stage()
    let disk = try StallingDisk(stage.scratch.path + "/disk")
    defer { disk.end() }
    try stage.start()
    disk.become(.untilWritten)
    try stage.reload(configuration(stage, required: true))
    #expect(eventually { disk.hasStalled })
    #expect(stage.log.contains(.reloaded, ["generation": 2]))
    #expect(try stage.control("status").contains("\"generation\":2"))
    #expect(try stage.get("/nothing").status == 404)
    #expect(try eventually(seconds: 20) { try isRefused(stage) }, "it counts as refusing from its first record on")
    disk.become(.answering)
    #expect(try eventually { try stage.get().status == 200 })
    #expect(stage.log.wait(for: .audit, ["state": "opened"]))
    #expect(stage.daemon!.stop() == 0)
    #expect(try stage.verify().status == 0)
    assertCanary(stage)
  }
}
