import Foundation
import Log
import ServerSupport
import StatusModel
import TestSupport
import Testing

/// `bearerctl audit verify` detects changes of an audit file (T58).
@Suite(.inProcess) struct ChangedAuditRecordsAreDetected {
  @Test func `T58: each exchange has an audit record without header fields, query and body`() throws {
    let (stage, file) = try Stage.withAudit()
    #expect(try stage.get("/api/x?key=QUERY", fields: "X-Note: FIELD\r\n").status == 200)
    #expect(try stage.get("/nothing").status == 404)
    _ = try stage.request("POST /api/y HTTP/1.1\r\nHost: HOST\r\nContent-Length: 4\r\n\r\n", body: "BODY")
    #expect(try eventually { try Stage.lines(file).count == 4 })
    let whole = try stage.verify()
    #expect(whole.status == 0)
    let text = stage.plain(whole.output)
    #expect(text == (try golden("audit-intact.txt", for: text)))
    let status = try run(
      [RunningDaemon.binary("bearerctl"), "status", "--control", stage.scratch.path + "/control.sock"])
    #expect(status.output.contains("audit \(file), 4 records, head "))
    #expect(stage.daemon!.stop() == 0)

    let lines = try Stage.lines(file)
    #expect(lines.count == 5 && lines[4].contains(" event=closed chain="))
    #expect(
      lines[1].contains(" level=info event=request service=api ") && lines[1].contains(" path=/api/x status=200 "))
    #expect(lines[1].contains(" credential=canary ") && lines[1].contains(" uid=\(getuid()) method=GET "))
    #expect(lines[2].contains(" level=warning event=request ") && lines[2].contains(" refused=no-service "))
    for word in ["QUERY", "FIELD", "BODY"] { #expect(!lines.joined().contains(word)) }
    var status0 = stat()
    stat(file, &status0)
    #expect(status0.st_mode & 0o777 == 0o600)
    // The log has the chain values of the file's first and last record.
    for (index, state) in [(0, "opened"), (4, "closed")] {
      let chain = lines[index].suffix(43)
      #expect(
        stage.log.contains(.audit, ["state": "\(state)", "file": "\(file)", "n": "\(index + 1)", "chain": "\(chain)"]))
    }
    try stage.assertCanary(times: 2, notIn: file)
  }

  @Test func `T58: verify names an edited, removed, inserted or moved record`() throws {
    let (stage, file) = try Stage.withAudit()
    for number in 0..<6 { #expect(try stage.get("/api/\(number)").status == 200) }
    #expect(stage.daemon!.stop() == 0)
    let lines = try Stage.lines(file)
    func verifyChanged(_ change: (inout [String]) -> Void) throws -> String {
      var changed = lines
      change(&changed)
      try (changed.joined(separator: "\n") + "\n").write(toFile: file, atomically: false, encoding: .utf8)
      let result = try stage.verify()
      #expect(result.status == (changed == lines ? 0 : 1) && (changed == lines || result.output.isEmpty), "\(result)")
      return result.errors
    }
    #expect(try verifyChanged { _ in }.isEmpty)
    let edited = try verifyChanged { $0[3] = $0[3].replacing("status=200", with: "status=201") }
    let removed = try verifyChanged { $0.remove(at: 3) }
    let inserted = try verifyChanged { $0.insert($0[3], at: 4) }
    let moved = try verifyChanged { $0.swapAt(3, 4) }
    let first = try verifyChanged { $0.removeFirst() }
    let errors = [edited, removed, inserted, moved, first]
    for (error, line) in zip(errors, [4, 4, 5, 4, 1]) { #expect(error.contains("\(file):\(line): "), "\(error)") }
    let text = stage.plain(errors.joined(separator: "\n"))
    #expect(text == (try golden("audit-changed.txt", for: text)))
    try stage.assertCanary(times: 6, notIn: file)
  }

  @Test func `T58: verify detects a truncated file by the daemon's last record or a value from the log`() throws {
    let (stage, file) = try Stage.withAudit()
    for number in 0..<4 { #expect(try stage.get("/api/\(number)").status == 200) }
    #expect(try eventually { try Stage.lines(file).count == 5 })
    let lines = try Stage.lines(file)
    let head = String(lines[4].suffix(43))
    #expect(try stage.verify().status == 0)
    try (lines[..<3].joined(separator: "\n") + "\n").write(toFile: file, atomically: false, encoding: .utf8)
    let cut = try stage.verify()
    #expect(cut.status == 1 && cut.errors.contains("n=5 chain=\(head)"), "\(cut)")
    // A new file with the same name and content is not the file that the daemon writes.
    try lines.joined(separator: "\n").write(toFile: file, atomically: true, encoding: .utf8)
    let replaced = try stage.verify()
    #expect(replaced.status == 1)

    #expect(stage.daemon!.stop() == 0)
    let copy = try stage.scratch.write("copy.log", lines.joined(separator: "\n") + "\n")
    let found = try stage.verify(copy, "--head", String(lines[2].suffix(43)))
    #expect(found.status == 0)
    try stage.scratch.write("copy.log", lines[..<4].joined(separator: "\n") + "\n")
    #expect(try stage.verify(copy).status == 0, "a chain alone does not show it")
    let missing = try stage.verify(copy, "--head", head)
    #expect(missing.status == 1 && missing.errors.contains("chain=\(head)"), "\(missing)")
    let text = stage.plain(
      [cut.errors, replaced.errors, found.output, missing.errors].joined(separator: "\n"))
    #expect(text == (try golden("audit-truncated.txt", for: text)))
    #expect(try stage.verify(copy, "--head", "short").status == 2)
    let hyphen = "-" + String(repeating: "A", count: 42)
    #expect(try stage.verify(copy, "--head", hyphen).errors.contains("chain=\(hyphen)"))
    stage.assertCanary(times: 4)
  }
}
