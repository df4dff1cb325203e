import Audit
import Foundation
import TestSupport
import Testing

/// How a chain goes on: after a restart, a crash, a full disk, in another file (T58).
@Suite struct AuditFileTests {
  @Test func `T58: the next start goes on from the last record`() throws {
    let stage = try AuditStage()
    try stage.write(records: 3)
    let head = try chain(of: stage.lines.last!)
    try stage.write(records: 2)
    #expect(try stage.lines[5].contains(" event=opened version=1 pid=\(getpid()) previous=\(head) chain="))
    #expect(try stage.verify().last == 9)
  }

  /// The end is looked for in the last part of a file alone.
  @Test func `T58: the next start goes on from the last record of a large file`() throws {
    let stage = try AuditStage()
    try stage.write(records: 5_000)
    try stage.write(records: 1)
    #expect(try stage.verify().last == 5_005)
  }

  @Test func `T58: a line that was cut off stays, and the next start says so`() throws {
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
    // Without its newline alone it is whole.
    try String(whole.dropLast()).write(toFile: stage.path, atomically: false, encoding: .utf8)
    try stage.write(records: 1)
    let verifier = try stage.verify()
    #expect(verifier.torn == 0 && verifier.records == 8)
  }

  @Test func `T58: a line that is no record stands only where a start says so`() throws {
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
    // Not even one that could be the rest of the record behind it.
    try stage.replace(Array(lines[..<3]) + ["n=4 time=20"] + Array(lines[3...]))
    #expect(stage.fault() == 4)
    try stage.replace(Array(lines[..<5]) + Array(lines[6...]))
    #expect(stage.fault() == 6)
  }

  @Test func `T58: a file that follows another one begins with what that one ended with`() throws {
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

  @Test func `T58: what is not fit to be the file is left alone`() throws {
    let stage = try AuditStage()
    func reason(_ path: String) -> String {
      do throws(AuditFileError) {
        _ = try AuditFile(path: path)
        return "none"
      } catch {
        return error.description
      }
    }
    let held = try AuditFile(path: stage.path)
    #expect(reason(stage.path) == "audit file \(stage.path): another bearerd uses it: each needs its own file")
    withExtendedLifetime(held) {}

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

  @Test func `T58: what there is no room for is counted, also in the file`() throws {
    let stage = try AuditStage()
    let writer = AuditWriter(try AuditFile(path: stage.path), version: "1") {}
    let records = 30_000
    writer.record(0..<records)
    let dropped = writer.status.dropped
    #expect(dropped > 0 && dropped < UInt64(records))
    // What was promised has room, and whoever is refused again and again takes it from nobody.
    #expect(writer.isDependable)
    let promised = 8_000
    writer.record(0..<promised, isPromised: true)
    #expect(writer.status.dropped == dropped && !writer.isDependable)
    writer.close()
    writer.run()
    #expect(try stage.verify().records == UInt64(records) - dropped + UInt64(promised) + 3)
    #expect(try stage.lines.contains { $0.contains(" event=dropped count=\(dropped) chain=") })
  }
}
