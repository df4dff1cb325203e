import Audit
import Foundation
import TestSupport
import Testing

/// What a crash leaves behind is excused; what looks like it is not (T58).
@Suite struct AuditRestTests {
  private func append(_ bytes: [UInt8], to path: String) throws {
    let handle = try #require(FileHandle(forWritingAtPath: path))
    try handle.seekToEnd()
    try handle.write(contentsOf: Data(bytes))
    try handle.close()
  }

  private func append(_ text: String, to path: String) throws { try append(Array(text.utf8), to: path) }

  @Test func `T58: records that were made illegible are not excused by the next start`() throws {
    let stage = try AuditStage()
    for spoiled in ["x", "n=3 time=2026", "n=4 time=2026-11-21T05:12:08.123Z level=info", "gone", "n=40", "n=4 x"] {
      try? FileManager.default.removeItem(atPath: stage.path)
      try stage.write(records: 3)
      // The last two of five, in the hope that the next start counts them as torn.
      try stage.replace(Array(try stage.lines[..<3]) + [spoiled, spoiled])
      let place: UInt64 = spoiled.hasPrefix("n=4 t") ? 5 : 4
      #expect(stage.fault() == place, "\(spoiled)")
      try stage.write(records: 1)
      #expect(stage.fault() == place, "\(spoiled)")
    }
  }

  @Test func `T58: each start that a full disk stops in its first record leaves a piece of it, and the chain holds`()
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

  /// As ext4 and XFS may leave a file whose last data never came to the disk.
  @Test(arguments: [1, 4_096, (1 << 18) - 1, 1 << 18, (1 << 20) + 17])
  func `T58: an end of zeros is a line that was cut off, however long it is`(_ zeros: Int) throws {
    // After a whole line, in the middle of one, before its newline, and of all that there was.
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

  @Test func `T58: zeros stand only where a start follows`() throws {
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

  /// Three files of one chain, the oldest first.
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
        try verifier.take(Array(FileManager.default.contents(atPath: path) ?? Data()).span)
        try verifier.finish()
      }
      return (verifier, nil)
    } catch {
      return (verifier, error)
    }
  }

  @Test func `T58: files of one chain hold together, and one that is missing, changed or moved is found`() throws {
    let stage = try AuditStage()
    let paths = try rotated(stage)
    let whole = verify(paths)
    #expect(whole.fault == nil && whole.verifier.records == 12 && whole.verifier.first == 1, "\(whole)")
    #expect(verify(Array(paths.dropFirst())).verifier.previous != nil)
    for wrong in [[paths[0], paths[2]], [paths[1], paths[0], paths[2]], [paths[0], paths[0]], paths + [paths[2]]] {
      let fault = try #require(verify(wrong).fault)
      #expect(fault.line == 1 && fault.message.contains("the end of the file before"), "\(fault)")
    }
    // An end that was cut off shows by the file that follows.
    let text = try String(contentsOfFile: paths[0], encoding: .utf8)
    let shorter = text.split(separator: "\n").dropLast().joined(separator: "\n") + "\n"
    try shorter.write(toFile: paths[0], atomically: false, encoding: .utf8)
    #expect(verify([paths[0]]).fault == nil && verify(paths).fault?.line == 1)
  }

  // MARK: before it is opened

  @Test func `T58: what a start would say is seen without opening the file, and without making it`() throws {
    let stage = try AuditStage()
    var outlook = AuditInspection(path: stage.path)
    #expect(outlook.problem == nil && !outlook.isThere && outlook.writer == getuid() && outlook.records == nil)
    #expect(!FileManager.default.fileExists(atPath: stage.path))
    try stage.write(records: 3)
    // While it is written, too.
    let held = try AuditFile(path: stage.path)
    outlook = AuditInspection(path: stage.path)
    #expect(outlook.problem == nil && outlook.isThere && outlook.records == 5)
    withExtendedLifetime(held) {}

    func problem(_ path: String) -> String { AuditInspection(path: path).problem?.description ?? "none" }
    /// The same as a start says.
    func agrees(_ path: String, _ reason: String) -> Bool {
      do throws(AuditFileError) { _ = try AuditFile(path: path) } catch {
        return problem(path).contains(reason) && !error.isPassing
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
    // The unit makes its own directory.
    if access(AuditInspection.unitDirectory, F_OK) != 0 {
      outlook = AuditInspection(path: AuditInspection.unitDirectory + "/audit.log")
      #expect(outlook.problem == nil && outlook.unseen?.contains("the systemd unit creates") == true)
    }
  }
}
