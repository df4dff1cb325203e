import DemoUpstream
import Foundation
import TestSupport
import Testing

/// The audit file, by the real daemon and the real verifier: full disks, crashes, hands that change it (T58).
@Suite struct NothingGoesOutUnrecorded {
  private static func stage(required: Bool = false) throws -> (Stage, file: String) {
    let stage = try Stage()
    let file = stage.scratch.path + "/audit.log"
    try stage.start(stage.configuration(more: "audit: { file: audit.log\(required ? ", required: true" : "") }"))
    return (stage, file)
  }

  private static func lines(_ file: String) throws -> [String] {
    try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").map(String.init)
  }

  private func verify(_ stage: Stage, _ more: String...) throws -> CommandResult {
    try run(
      [RunningDaemon.binary("bearerctl"), "audit", "verify"] + more
        + ["--config", stage.scratch.path + "/bearerd.yaml", "--control", stage.scratch.path + "/control.sock"])
  }

  private func expectClean(
    _ stage: Stage, _ file: String, times: Int, sourceLocation: SourceLocation = #_sourceLocation
  )
    throws
  {
    let text = try String(contentsOfFile: file, encoding: .utf8)
    for form in Stage.encodings(of: stage.canary) {
      #expect(!text.contains(form), "the secret is in the audit file", sourceLocation: sourceLocation)
    }
    stage.assertCanary(times: times, sourceLocation: sourceLocation)
  }

  @Test func `T58: each exchange has a record, with no field, query or body`() throws {
    let (stage, file) = try Self.stage()
    #expect(try stage.get("/api/x?key=QUERY", fields: "X-Note: FIELD\r\n").status == 200)
    #expect(try stage.get("/nothing").status == 404)
    _ = try stage.request("POST /api/y HTTP/1.1\r\nHost: HOST\r\nContent-Length: 4\r\n\r\n", body: "BODY")
    #expect(try eventually { try Self.lines(file).count == 4 })
    let whole = try verify(stage)
    #expect(whole.status == 0 && whole.output.contains("whole: 4 records"), "\(whole)")
    #expect(whole.output.contains("the running daemon's last record is in it"))
    let status = try run(
      [RunningDaemon.binary("bearerctl"), "status", "--control", stage.scratch.path + "/control.sock"])
    #expect(status.output.contains("audit \(file), 4 records, head "))
    #expect(stage.daemon!.stop() == 0)

    let lines = try Self.lines(file)
    #expect(lines.count == 5 && lines[4].contains(" event=closed chain="))
    #expect(
      lines[1].contains(" level=info event=request service=api ") && lines[1].contains(" path=/api/x status=200 "))
    #expect(lines[1].contains(" credential=canary ") && lines[1].contains(" uid=\(getuid()) method=GET "))
    #expect(lines[2].contains(" level=warning event=request ") && lines[2].contains(" refused=no-service "))
    for word in ["QUERY", "FIELD", "BODY"] { #expect(!lines.joined().contains(word)) }
    var status0 = stat()
    stat(file, &status0)
    #expect(status0.st_mode & 0o777 == 0o600)
    // The log says what the file begins and ends with.
    for (index, state) in [(0, "opened"), (4, "closed")] {
      let chain = lines[index].suffix(43)
      #expect(stage.daemon!.logText.contains("event=audit state=\(state) file=\(file) n=\(index + 1) chain=\(chain)\n"))
    }
    try expectClean(stage, file, times: 2)
  }

  @Test func `T58: a record that was edited, removed, inserted or moved is named`() throws {
    let (stage, file) = try Self.stage()
    for number in 0..<6 { #expect(try stage.get("/api/\(number)").status == 200) }
    #expect(stage.daemon!.stop() == 0)
    let lines = try Self.lines(file)
    func verifyChanged(_ change: (inout [String]) -> Void) throws -> String {
      var changed = lines
      change(&changed)
      try (changed.joined(separator: "\n") + "\n").write(toFile: file, atomically: false, encoding: .utf8)
      let result = try verify(stage)
      #expect(result.status == (changed == lines ? 0 : 1) && (changed == lines || result.output.isEmpty), "\(result)")
      return result.errors
    }
    #expect(try verifyChanged { _ in }.isEmpty)
    let edited = try verifyChanged { $0[3] = $0[3].replacing("status=200", with: "status=201") }
    #expect(edited.contains("\(file):4: wanted chain="), "\(edited)")
    #expect(try verifyChanged { $0.remove(at: 3) }.contains("\(file):4: wanted n=4, and n=5 came"))
    #expect(try verifyChanged { $0.insert($0[3], at: 4) }.contains("\(file):5: wanted n=5, and n=4 came"))
    #expect(try verifyChanged { $0.swapAt(3, 4) }.contains("\(file):4: wanted n=4, and n=5 came"))
    #expect(try verifyChanged { $0.removeFirst() }.contains("\(file):1: wanted the record with which a file begins"))
    try expectClean(stage, file, times: 6)
  }

  @Test func `T58: an end that was cut off shows by the running daemon, and by a value from the log`() throws {
    let (stage, file) = try Self.stage()
    for number in 0..<4 { #expect(try stage.get("/api/\(number)").status == 200) }
    #expect(try eventually { try Self.lines(file).count == 5 })
    let lines = try Self.lines(file)
    let head = String(lines[4].suffix(43))
    #expect(try verify(stage).status == 0)
    try (lines[..<3].joined(separator: "\n") + "\n").write(toFile: file, atomically: false, encoding: .utf8)
    let cut = try verify(stage)
    #expect(
      cut.status == 1 && cut.errors.contains("the running daemon has written n=5 chain=\(head), which is not here"))
    // The same text in another file of this name is none of the daemon's.
    try lines.joined(separator: "\n").write(toFile: file, atomically: true, encoding: .utf8)
    let replaced = try verify(stage)
    #expect(replaced.status == 1 && replaced.errors.contains("the running daemon writes another file"))

    #expect(stage.daemon!.stop() == 0)
    let copy = try stage.scratch.write("copy.log", lines.joined(separator: "\n") + "\n")
    let found = try verify(stage, copy, "--head", String(lines[2].suffix(43)))
    #expect(found.status == 0 && found.output.contains("--head is n=3; 2 records came after it"), "\(found)")
    #expect(found.output.contains("no running daemon writes it"))
    try stage.scratch.write("copy.log", lines[..<4].joined(separator: "\n") + "\n")
    #expect(try verify(stage, copy).status == 0, "a chain alone does not show it")
    let missing = try verify(stage, copy, "--head", head)
    #expect(missing.status == 1 && missing.errors.contains("wanted chain=\(head), which is not here"), "\(missing)")
    #expect(try verify(stage, copy, "--head", "short").status == 2)
    stage.assertCanary(times: 4)
  }

  /// The file may not grow, as on a full disk; then it may.
  @Test func `T58: a full disk refuses requests where records are required, until there is room`() throws {
    let (stage, file) = try Self.stage(required: true)
    let daemon = stage.daemon!
    #expect(try stage.get("/api/before").status == 200)
    #expect(try eventually { try Self.lines(file).count == 2 })
    let size = try #require(FileManager.default.contents(atPath: file)).count
    limitFiles(of: daemon.pid, to: size + 100)
    // Its record is the one that has no room.
    #expect(try stage.get("/api/last").status == 200)
    #expect(daemon.waitForLog("event=audit-failed"))
    for _ in 0..<3 {
      let refused = try stage.get("/api/refused")
      #expect(refused.status == 503 && refused.head.contains("details=\"audit-unavailable\""), "\(refused)")
    }
    #expect(daemon.waitForLog("refused=audit-unavailable ", count: 3))
    #expect(daemon.waitForLog("detail=\"write: File too large\"", count: 4))
    #expect(try stage.control("status").contains("\"problem\":\"write: File too large\""))
    limitFiles(of: daemon.pid, to: nil)
    #expect(daemon.waitForLog("event=audit-works"))
    #expect(try stage.get("/api/after").status == 200)
    #expect(try eventually { try Self.lines(file).count == 7 })
    #expect(try verify(stage).status == 0)
    #expect(daemon.stop() == 0)
    let paths = try Self.lines(file).compactMap {
      $0.firstMatch(of: /path=\/api\/([a-z]+) status/).map { String($0.1) }
    }
    #expect(paths == ["before", "last", "refused", "refused", "refused", "after"])
    try expectClean(stage, file, times: 3)
  }

  @Test func `T58: a full disk stops nothing where records are not required, and what is lost is counted`() throws {
    let (stage, file) = try Self.stage()
    let daemon = stage.daemon!
    #expect(try stage.get().status == 200)
    #expect(try eventually { try Self.lines(file).count == 2 })
    limitFiles(of: daemon.pid, to: try #require(FileManager.default.contents(atPath: file)).count + 100)
    let client = try RawClient(port: daemon.port())
    let long = String(repeating: "x", count: 1_000)
    for _ in 0..<30 {
      try client.send(
        String(repeating: "GET /\(long) HTTP/1.1\r\nHost: localhost:\(try daemon.port())\r\n\r\n", count: 60))
      for _ in 0..<60 { #expect(try client.answer().head.hasPrefix("HTTP/1.1 404 ")) }
    }
    #expect(daemon.waitForLog("event=audit-failed"))
    #expect(try stage.get().status == 200)
    func metric(_ name: String) throws -> Double {
      try PrometheusText(String(try stage.control("metrics").dropFirst(3))).value(name)
    }
    let dropped = Int(try metric("bearerd_audit_records_dropped_total"))
    #expect(dropped > 300 && dropped < 1_801, "\(dropped)")
    #expect(try metric("bearerd_audit_working") == 0)
    #expect(!Observed(pid: daemon.pid).spins(), "it tries again, and not all the time")
    limitFiles(of: daemon.pid, to: nil)
    #expect(daemon.waitForLog("event=audit-works"))
    #expect(try eventually { try metric("bearerd_audit_working") == 1 })
    #expect(daemon.stop() == 0)
    let lines = try Self.lines(file)
    #expect(lines.contains { $0.contains(" event=dropped count=\(dropped) chain=") })
    // opened, dropped, closed, and what there was room for
    #expect(lines.count == 3 + 1_802 - dropped)
    #expect(try verify(stage).status == 0)
    try expectClean(stage, file, times: 2)
  }

  @Test func `T58: after a crash the next start goes on, and the chain holds`() throws {
    let (stage, file) = try Self.stage()
    let client = try RawClient(port: stage.daemon!.port())
    let port = try stage.daemon!.port()
    for _ in 0..<50 { try client.send("GET /nothing HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n") }
    _ = try client.answer()
    #expect(try eventually { try Self.lines(file).count > 5 })
    #expect(stage.daemon!.stop(SIGKILL) == -SIGKILL)
    // As a power cut might leave it.
    let handle = try #require(FileHandle(forWritingAtPath: file))
    try handle.truncate(atOffset: try handle.seekToEnd() - 20)
    #expect(try verify(stage).output.contains("the last line is cut off"))
    try stage.start(stage.configuration(more: "audit: { file: audit.log }"))
    #expect(try stage.get().status == 200)
    #expect(try eventually { try Self.lines(file).last?.contains(" status=200 ") == true })
    let result = try verify(stage)
    #expect(result.status == 0 && result.output.contains("1 line cut off by a crash or a full disk"), "\(result)")
    #expect(stage.daemon!.stop() == 0)
    try expectClean(stage, file, times: 1)
  }

  @Test func `T58: two daemons never write one file`() throws {
    let (stage, file) = try Self.stage()
    let second = try stage.fail(
      stage.configuration(more: "audit: { file: audit.log }\ncontrol: other.sock"))
    #expect(second.status == 71)
    #expect(second.errors.contains("audit file \(file): another bearerd writes it; each needs a file of its own"))
    #expect(try stage.get().status == 200)
    #expect(stage.daemon!.stop() == 0)
    #expect(try verify(stage).status == 0)
    #expect(try Self.lines(file).count == 3)
    try expectClean(stage, file, times: 1)
  }

  @Test func `T58: a reload goes on in a new file when the old one was moved, and in the old one when not`() throws {
    let (stage, file) = try Self.stage()
    let with = stage.configuration(more: "audit: { file: audit.log }")
    #expect(try stage.get("/api/one").status == 200)
    try stage.reload(with)
    #expect(try stage.get("/api/two").status == 200)
    let old = file + ".1"
    #expect(rename(file, old) == 0)
    try stage.reload(with)
    #expect(try stage.get("/api/three").status == 200)
    #expect(try eventually { try Self.lines(file).count == 2 })
    #expect(try Self.lines(old).count == 4)
    let chain = try Self.lines(old)[3].suffix(43)
    let opened = try Self.lines(file)[0]
    #expect(opened.contains(" event=opened ") && opened.contains(" previous=\(chain) "))
    let result = try verify(stage)
    #expect(result.status == 0 && result.output.contains("what came before n=5 is in an earlier file"), "\(result)")
    #expect(try verify(stage, old).status == 0)

    // What cannot be used changes nothing.
    try stage.reload(stage.configuration(more: "audit: { file: none/audit.log }"))
    #expect(stage.daemon!.logText.contains("event=reload-failed detail=\"audit file "))
    #expect(try stage.get("/api/four").status == 200)
    #expect(try eventually { try Self.lines(file).count == 3 })
    try stage.reload(stage.configuration())
    #expect(try stage.get("/api/five").status == 200)
    #expect(stage.daemon!.stop() == 0)
    let ended = try Self.lines(file)
    #expect(ended.count == 4 && ended[3].contains(" event=closed "))
    try expectClean(stage, file, times: 5)
  }
}

/// prlimit(2): how large the files of a process may become; nil: as large as they like.
private func limitFiles(of pid: pid_t, to size: Int?) {
  _ = try? run(["prlimit", "--pid", "\(pid)", "--fsize=\(size.map(String.init) ?? "unlimited"):unlimited"])
}
