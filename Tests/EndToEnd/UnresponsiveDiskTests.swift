import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// The disk of the audit file stops responding: a write neither succeeds nor fails (T58).
@Suite(.waits) struct UnresponsiveDiskTests {
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
  func `T58: if records are required, requests are refused while the disk does not respond, and SIGTERM loses records`()
    throws
  {
    let stage = try Stage()
    let disk = try start(stage, required: true)
    defer { disk.end() }
    #expect(try stage.get("/api/before").status == 200)
    #expect(eventually { disk.lines.count == 2 })
    disk.setMode(.stalled)
    // The record of this request waits for the disk.
    #expect(try stage.get("/api/last").status == 200)
    #expect(try eventually(seconds: 20) { try isRefused(stage) })
    let sent = stage.upstream.records.count
    for _ in 0..<3 { #expect(try isRefused(stage)) }
    #expect(stage.upstream.records.count == sent, "nothing goes out")
    let status = try stage.control("status")
    #expect(
      status.contains("\"problem\":\"the file system has not responded for ") && !status.contains("\"refusing\":null"))
    #expect(disk.lines.count == 2)
    disk.setMode(.responding)
    #expect(try eventually { try stage.get("/api/after").status == 200 })
    // All records were written later.
    for path in ["before", "last", "again", "after"] {
      #expect(eventually { disk.lines.contains { $0.contains(" path=/api/\(path) ") } }, "\(path)")
    }
    #expect(try stage.verify().status == 0)
    // A sanitizer waits for the thread that waits for the disk.
    guard !isSanitized else { return assertCanary(stage) }
    let written = disk.lines.count
    disk.setMode(.stalled)
    #expect(try stage.get("/api/lost").status == 200)
    // The daemon waits ten seconds for the disk, and `stop` waits longer.
    #expect(stage.daemon!.stop() == 0)
    #expect(stage.log.contains(.auditLost, ["detail": .present]))
    #expect(disk.lines.count == written)
    assertCanary(stage)
  }

  @Test(.enabled(if: isRoot, "mounts are for root"))
  func `T58: if records are not required, a disk that does not respond delays no request`() throws {
    let stage = try Stage()
    let disk = try start(stage, required: false)
    defer { disk.end() }
    disk.setMode(.stallsOnWrite)
    #expect(try stage.get().status == 200)
    #expect(eventually { disk.hasStalled })
    #expect(try eventually(seconds: 20) { try stage.control("status").contains("has not responded for") })
    for _ in 0..<3 { #expect(try stage.get().status == 200) }
    disk.setMode(.responding)
    #expect(eventually { disk.lines.count == 5 })
    #expect(stage.daemon!.stop() == 0)
    assertCanary(stage)
  }

  @Test(.enabled(if: isRoot, "mounts are for root"))
  func `T55: a reload whose new audit file is on a disk that does not respond delays no request`() throws {
    let stage = try Stage()
    let disk = try StallingDisk(stage.scratch.path + "/disk")
    defer { disk.end() }
    try stage.start()
    disk.setMode(.stallsOnWrite)
    try stage.reload(configuration(stage, required: true))
    #expect(eventually { disk.hasStalled })
    #expect(stage.log.contains(.reloaded, ["generation": 2]))
    #expect(try stage.control("status").contains("\"generation\":2"))
    #expect(try stage.get("/nothing").status == 404)
    #expect(try eventually(seconds: 20) { try isRefused(stage) }, "it counts as refusing from its first record on")
    disk.setMode(.responding)
    #expect(try eventually { try stage.get().status == 200 })
    #expect(stage.log.wait(for: .audit, ["state": "opened"]))
    #expect(stage.daemon!.stop() == 0)
    #expect(try stage.verify().status == 0)
    assertCanary(stage)
  }
}
