import Audit
import Foundation
import TestSupport
import Testing

/// How the chain continues after a restart, a crash, a full disk, or in another file (T58).
@Suite struct AuditFileTests {
  @Test func `T58: the next start continues the chain after the last record`() throws {
    let stage = try AuditStage()
    try stage.write(records: 3)
    let head = try chain(of: stage.lines.last!)
    try stage.write(records: 2)
    #expect(try stage.lines[5].contains(" event=opened version=1 pid=\(getpid()) previous=\(head) chain="))
    #expect(try stage.verify().last == 9)
  }

  /// Only the last part of a file is searched for the last record.
  @Test func `T58: the next start continues the chain of a large file`() throws {
    let stage = try AuditStage()
    try stage.write(records: 5_000)
    try stage.write(records: 1)
    #expect(try stage.verify().last == 5_005)
  }

  @Test func `T58: a torn line stays in the file, and the next start records the tear`() throws {
    let stage = try AuditStage()
    try stage.write(records: 3)
    let whole = try String(contentsOfFile: stage.path, encoding: .utf8)
    let start = whole.split(separator: "\n").dropLast().map { $0.utf8.count + 1 }.reduce(0, +)
    for cut in [start + 1, start + 10, whole.utf8.count - 2] {
      try String(decoding: Array(whole.utf8)[..<cut], as: UTF8.self)
        .write(toFile: stage.path, atomically: false, encoding: .utf8)
      #expect(try stage.verify().isCutOff)
      try stage.write(records: 1)
      let verifier = try stage.verify()
      #expect(verifier.torn == 1 && verifier.records == 7 && !verifier.isCutOff, "cut at \(cut)")
      let line = try stage.lines[5]
      #expect(line.hasPrefix("n=5 ") && line.contains(" torn=1 chain="))
    }
    // A last line without its newline is complete.
    try String(whole.dropLast()).write(toFile: stage.path, atomically: false, encoding: .utf8)
    try stage.write(records: 1)
    let verifier = try stage.verify()
    #expect(verifier.torn == 0 && verifier.records == 8)
  }

  @Test func `T58: a torn line is valid only before a start that records the tear`() throws {
    let stage = try AuditStage()
    try stage.write(records: 3)
    let handle = try #require(FileHandle(forWritingAtPath: stage.path))
    try handle.seekToEnd()
    try handle.write(contentsOf: Data("n=6 time=20".utf8))
    try stage.write(records: 1)
    #expect(stage.fault() == nil)
    let lines = try stage.lines
    try stage.replace(Array(lines[..<6]) + ["n=6 time=2026"] + Array(lines[6...]))
    #expect(stage.fault() == 6)
    try stage.replace(Array(lines[..<3]) + [lines[5]] + Array(lines[3...]))
    #expect(stage.fault() == 4)
    // Not even a line that could be the end of the record after it.
    try stage.replace(Array(lines[..<3]) + ["n=4 time=20"] + Array(lines[3...]))
    #expect(stage.fault() == 4)
    try stage.replace(Array(lines[..<5]) + Array(lines[6...]))
    #expect(stage.fault() == 6)
  }

  @Test func `T58: a rotated file begins with the last chain value of the file before`() throws {
    let stage = try AuditStage()
    let first = try AuditFile(path: stage.path)
    let writer = AuditWriter(first, version: "1") {}
    writer.record(0..<3)
    #expect(first.isInPlace)
    let old = stage.scratch.path + "/audit.log.1"
    #expect(rename(stage.path, old) == 0)
    #expect(!first.isInPlace)
    writer.change(to: try AuditFile(path: stage.path))
    writer.close()
    writer.run()
    let ended = try #require(try String(contentsOfFile: old, encoding: .utf8).split(separator: "\n").last)
    #expect(ended.contains(" event=closed chain="))
    let lines = try stage.lines
    let head = try chain(of: String(ended))
    #expect(lines[0].contains(" event=opened ") && lines[0].contains(" previous=\(head) "))
    let verifier = try stage.verify()
    #expect(verifier.first > 1 && verifier.last == 7)
  }

  @Test func `T58: an unsuitable audit file is refused and left unchanged`() throws {
    let stage = try AuditStage()
    func reason(_ path: String) -> String {
      do throws(AuditFileError) {
        _ = try AuditFile(path: path)
        return "none"
      } catch {
        return error.description
      }
    }
    let openFile = try AuditFile(path: stage.path)
    #expect(reason(stage.path) == "audit file \(stage.path): another bearerd uses it: each needs its own file")
    withExtendedLifetime(openFile) {}

    let other = try stage.scratch.write("bearerd.yaml", "services: {}\n")
    #expect(reason(other).hasSuffix("it contains something other than audit records of bearerd"))
    #expect(try String(contentsOfFile: other, encoding: .utf8) == "services: {}\n")
    let link = stage.scratch.path + "/link"
    symlink(other, link)
    #expect(reason(link).contains("symbolic links"))
    let pipe = stage.scratch.path + "/pipe"
    mkfifo(pipe, 0o600)
    #expect(reason(pipe).contains("not a regular file"))
    let open = try stage.scratch.write("open", "", mode: 0o622)
    chmod(open, 0o622)
    #expect(reason(open).contains("others can write it"))
    let shared = stage.scratch.path + "/shared"
    mkdir(shared, 0o700)
    chmod(shared, 0o777)
    #expect(reason(shared + "/audit.log").contains("others can write "))
    #expect(reason(stage.scratch.path + "/none/audit.log").contains("No such file"))
  }

  @Test func `T58: dropped records are counted in the status and in the file`() throws {
    let stage = try AuditStage()
    let writer = AuditWriter(try AuditFile(path: stage.path), version: "1") {}
    let records = 30_000
    writer.record(0..<records)
    let dropped = writer.status.dropped
    #expect(dropped > 0 && dropped < UInt64(records))
    // Promised records have reserved space, which repeated refusals cannot use up.
    #expect(writer.isHealthy)
    let promised = 8_000
    writer.record(0..<promised, isPromised: true)
    #expect(writer.status.dropped == dropped && !writer.isHealthy)
    writer.close()
    writer.run()
    #expect(try stage.verify().records == UInt64(records) - dropped + UInt64(promised) + 3)
    #expect(try stage.lines.contains { $0.contains(" event=dropped count=\(dropped) chain=") })
  }
}
