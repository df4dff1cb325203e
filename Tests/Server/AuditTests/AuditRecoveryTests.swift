import Audit
import Foundation
import TestSupport
import Testing

/// A start excuses the traces of a crash, but not similar changes (T58).
@Suite struct AuditRecoveryTests {
  private func append(_ bytes: [UInt8], to path: String) throws {
    let handle = try #require(FileHandle(forWritingAtPath: path))
    try handle.seekToEnd()
    try handle.write(contentsOf: Data(bytes))
    try handle.close()
  }

  private func append(_ text: String, to path: String) throws { try append(Array(text.utf8), to: path) }

  @Test func `T58: a start does not excuse overwritten records`() throws {
    let stage = try AuditStage()
    for spoiled in ["x", "n=3 time=2026", "n=4 time=2026-11-21T05:12:08.123Z level=info", "gone", "n=40", "n=4 x"] {
      try? FileManager.default.removeItem(atPath: stage.path)
      try stage.write(records: 3)
      // An attacker overwrites two of five records, so that the next start would count them as torn.
      try stage.replace(Array(try stage.lines[..<3]) + [spoiled, spoiled])
      let line: UInt64 = spoiled.hasPrefix("n=4 t") ? 5 : 4
      #expect(stage.fault() == line, "\(spoiled)")
      try stage.write(records: 1)
      #expect(stage.fault() == line, "\(spoiled)")
    }
  }

  @Test func `T58: the chain survives several starts that a full disk interrupts`()
    throws
  {
    let stage = try AuditStage()
    try stage.write(records: 3)
    try append("n=6 time=2026-11-21T05:12:08.123Z level=info event=req", to: stage.path)
    #expect(try stage.verify().isCutOff)
    try append("\nn=6 time=2026-11-21T05:12:09.123Z event=ope", to: stage.path)
    try append("\n", to: stage.path)
    #expect(try stage.verify().isCutOff)
    try stage.write(records: 1)
    let verifier = try stage.verify()
    #expect(verifier.torn == 2 && verifier.last == 8)
  }

  /// ext4 and XFS may leave zeros at the end of a file if its last data never reached the disk.
  @Test(arguments: [1, 4_096, (1 << 18) - 1, 1 << 18, (1 << 20) + 17])
  func `T58: zeros at the end of a file count as one torn line, at any length`(_ zeros: Int) throws {
    // The zeros follow a complete line, a partial line, a line without newline, or nothing.
    for kept in ["whole", "piece", "line", "nothing"] {
      let stage = try AuditStage()
      try stage.write(records: 3)
      let text = try String(contentsOfFile: stage.path, encoding: .utf8)
      let rest = ["whole": text, "piece": String(text.dropLast(60)), "line": String(text.dropLast()), "nothing": ""]
      try rest[kept]!.write(toFile: stage.path, atomically: false, encoding: .utf8)
      try append([UInt8](repeating: 0, count: zeros), to: stage.path)
      #expect(try stage.verify().isCutOff)
      try stage.write(records: 1)
      for piece in [1 << 10, 1 << 16] {
        let verifier = try stage.verify(piece: piece)
        #expect(verifier.torn == (kept == "line" ? 0 : 1) && !verifier.isCutOff)
        #expect(verifier.last == ["whole": 8, "piece": 7, "line": 8, "nothing": 3][kept])
      }
    }
  }

  @Test func `T58: zeros are valid only before the record of a start`() throws {
    let stage = try AuditStage()
    try stage.write(records: 5)
    let lines = try stage.lines
    try stage.replace(Array(lines[..<3]) + [lines[3] + "\0\0"] + Array(lines[4...]))
    #expect(stage.fault() == 4)
    try stage.replace(Array(lines[..<3]) + ["\0\0"] + Array(lines[3...]))
    #expect(stage.fault() == 4)
    try stage.replace(Array(lines[..<3]) + ["n=4 ti\0\0me=2026"])
    #expect(stage.fault() == 4)
  }

  // MARK: several files

  /// Returns the paths of three rotated files of one chain, the oldest first.
  private func rotated(_ stage: AuditStage) throws -> [String] {
    let writer = AuditWriter(try AuditFile(path: stage.path), version: "1") {}
    let thread = Thread { writer.run() }
    thread.start()
    var paths: [String] = []
    for number in 1...2 {
      writer.record(0..<3)
      writer.wake()
      #expect(eventually { writer.status.count == UInt64(number * 5 - 1) })
      paths.append("\(stage.path).\(number)")
      #expect(rename(stage.path, paths[number - 1]) == 0)
      writer.change(to: try AuditFile(path: stage.path))
      #expect(eventually { writer.status.count == UInt64(number * 5 + 1) })
    }
    writer.close()
    #expect(eventually { thread.isFinished })
    return paths + [stage.path]
  }

  private func verify(_ paths: [String]) -> (verifier: AuditVerifier, fault: AuditVerifier.Fault?) {
    var verifier = AuditVerifier()
    do throws(AuditVerifier.Fault) {
      for path in paths {
        try verifier.receive(Array(FileManager.default.contents(atPath: path) ?? Data()).span)
        try verifier.finish()
      }
      return (verifier, nil)
    } catch {
      return (verifier, error)
    }
  }

  @Test func `T58: rotated files verify as one chain, and a missing, changed or moved file is found`() throws {
    let stage = try AuditStage()
    let paths = try rotated(stage)
    let whole = verify(paths)
    #expect(whole.fault == nil && whole.verifier.records == 12 && whole.verifier.first == 1, "\(whole)")
    #expect(verify(Array(paths.dropFirst())).verifier.previous != nil)
    for wrong in [[paths[0], paths[2]], [paths[1], paths[0], paths[2]], [paths[0], paths[0]], paths + [paths[2]]] {
      let fault = try #require(verify(wrong).fault)
      #expect(fault.line == 1 && fault.message.contains("the end of the file before"), "\(fault)")
    }
    // The next file reveals a missing end.
    let text = try String(contentsOfFile: paths[0], encoding: .utf8)
    let shorter = text.split(separator: "\n").dropLast().joined(separator: "\n") + "\n"
    try shorter.write(toFile: paths[0], atomically: false, encoding: .utf8)
    #expect(verify([paths[0]]).fault == nil && verify(paths).fault?.line == 1)
  }

  // MARK: before it is opened

  @Test func `T58: an inspection predicts a start without opening or creating the audit file`() throws {
    let stage = try AuditStage()
    var inspection = AuditInspection(path: stage.path)
    #expect(
      inspection.problem == nil && !inspection.exists && inspection.writer == getuid() && inspection.records == nil)
    #expect(!FileManager.default.fileExists(atPath: stage.path))
    try stage.write(records: 3)
    // Also while another process writes the file.
    let openFile = try AuditFile(path: stage.path)
    inspection = AuditInspection(path: stage.path)
    #expect(inspection.problem == nil && inspection.exists && inspection.records == 5)
    withExtendedLifetime(openFile) {}

    func problem(_ path: String) -> String { AuditInspection(path: path).problem?.description ?? "none" }
    /// Whether a start refuses `path` with the same reason.
    func agrees(_ path: String, _ reason: String) -> Bool {
      do throws(AuditFileError) { _ = try AuditFile(path: path) } catch {
        return problem(path).contains(reason) && !error.isTransient
      }
      return false
    }
    let other = try stage.scratch.write("other.log", "services: {}\n")
    #expect(agrees(other, "it contains something other than audit records of bearerd"))
    symlink(stage.path, stage.scratch.path + "/link")
    #expect(agrees(stage.scratch.path + "/link", "symbolic link"))
    mkdir(stage.scratch.path + "/directory", 0o700)
    #expect(agrees(stage.scratch.path + "/directory", "not a regular file"))
    mkfifo(stage.scratch.path + "/pipe", 0o600)
    #expect(agrees(stage.scratch.path + "/pipe", "not a regular file"))
    let open = try stage.scratch.write("open.log", "")
    chmod(open, 0o622)
    #expect(agrees(open, "others can write it"))
    mkdir(stage.scratch.path + "/shared", 0o700)
    chmod(stage.scratch.path + "/shared", 0o777)
    #expect(agrees(stage.scratch.path + "/shared/audit.log", "others can write "))
    #expect(agrees(stage.scratch.path + "/none/audit.log", "/none: No such file or directory"))
    #expect(agrees(open + "/audit.log", "is not a directory"))
    if getuid() == 0 {
      let own = stage.scratch.path + "/own"
      let foreign = try stage.scratch.write("own/foreign.log", "")
      #expect(chown(own, 998, 998) == 0 && chown(foreign, 997, 997) == 0)
      #expect(problem(foreign).hasSuffix("foreign.log: it belongs to uid 997"), "not its directory, which is right")
    }
    // The systemd unit creates its directory.
    if access(AuditInspection.unitDirectory, F_OK) != 0 {
      inspection = AuditInspection(path: AuditInspection.unitDirectory + "/audit.log")
      #expect(inspection.problem == nil && inspection.uncheckedReason?.contains("the systemd unit creates") == true)
    }
  }
}
