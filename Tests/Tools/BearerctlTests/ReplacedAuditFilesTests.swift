import Foundation
import Log
import ServerSupport
import StatusModel
import TestSupport
import Testing

/// Deleted and moved audit files, and `bearerctl audit verify` of the results (T58).
@Suite(.inProcess) struct ReplacedAuditFilesTests {
  @Test func `T58: if the audit file is deleted, requests are refused until a reload creates a new file`() throws {
    let (stage, file) = try Stage.withAudit(required: true)
    #expect(try stage.get().status == 200)
    #expect(try eventually { try Stage.lines(file).count == 2 })
    #expect(unlink(file) == 0)
    // The write of this request's record detects the deletion.
    #expect(try stage.get().status == 200)
    #expect(stage.log.wait(for: .auditFailed))
    #expect(try stage.get().text.contains("error:audit-unavailable"))
    try stage.reload(stage.configuration(more: "audit: { file: audit.log, required: true }"))
    #expect(stage.log.wait(for: .auditWorks))
    #expect(try stage.get().status == 200)
    #expect(stage.daemon!.stop() == 0)
    let result = try stage.verify()
    #expect(result.status == 0)
    let text = stage.plain(result.output)
    #expect(text == (try golden("audit-deleted.txt", for: text)))
    // No pending record is lost.
    #expect(try Stage.lines(file).count == 5)
    try stage.assertCanary(times: 3, notIn: file)
  }

  @Test func `T58: a reload continues the audit file, or begins a new one if the file was moved`() throws {
    let (stage, file) = try Stage.withAudit()
    let with = stage.configuration(more: "audit: { file: audit.log }")
    #expect(try stage.get("/api/one").status == 200)
    try stage.reload(with)
    #expect(try stage.get("/api/two").status == 200)
    let old = file + ".1"
    #expect(rename(file, old) == 0)
    try stage.reload(with)
    #expect(try stage.get("/api/three").status == 200)
    #expect(try eventually { try Stage.lines(file).count == 2 })
    #expect(try Stage.lines(old).count == 4)
    let chain = try Stage.lines(old)[3].suffix(43)
    let opened = try Stage.lines(file)[0]
    #expect(opened.contains(" event=opened ") && opened.contains(" previous=\(chain) "))
    let result = try stage.verify()
    #expect(result.status == 0 && result.output.contains("n=4 chain=\(chain)"), "\(result)")
    #expect(try stage.verify(old).status == 0)
    // Both files in one call.
    let both = try stage.verify(old, file)
    let wrong = try stage.verify(file, old)
    #expect(both.status == 0 && wrong.status == 1 && wrong.errors.contains("\(old):1: "), "\(both)\(wrong)")
    let text = stage.plain([result.output, both.output, wrong.errors].joined(separator: "\n"))
    #expect(text == (try golden("audit-moved.txt", for: text)))

    // An unusable file leaves the previous one in use.
    try stage.reload(stage.configuration(more: "audit: { file: none/audit.log }"))
    #expect(stage.log.contains(.configuration, ["level": "error", "detail": .naming("none/audit.log")]))
    #expect(try stage.get("/api/four").status == 200)
    #expect(try eventually { try Stage.lines(file).count == 3 })
    try stage.reload(stage.configuration())
    #expect(try stage.get("/api/five").status == 200)
    #expect(stage.daemon!.stop() == 0)
    let ended = try Stage.lines(file)
    #expect(ended.count == 4 && ended[3].contains(" event=closed "))
    try stage.assertCanary(times: 5, notIn: file)
  }
}
