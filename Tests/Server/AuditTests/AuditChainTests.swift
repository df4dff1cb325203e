import Audit
import Foundation
import TestSupport
import Testing

/// Detection of changes in an audit file (T58).
@Suite struct AuditChainTests {
  @Test func `T58: an unchanged file verifies, in pieces of any size`() throws {
    let stage = try AuditStage()
    try stage.write(records: 20)
    for piece in [1, 2, 7, 64, 1 << 16] {
      let verifier = try stage.verify(piece: piece)
      #expect(verifier.records == 22 && verifier.first == 1 && verifier.last == 22)
      #expect(verifier.lastTime.hasPrefix("20") && verifier.lastTime.hasSuffix("Z"))
    }
    let lines = try stage.lines
    #expect(lines[0].contains(" event=opened version=1 pid=\(getpid()) previous=none chain="))
    #expect(
      lines[1].hasPrefix("n=2 time=2026-11-21T05:12:08.123Z level=info event=request path=/x/0 status=200 chain="))
    #expect(lines[21].contains(" event=closed chain="))
  }

  /// The chain format is public, so an independent program has to verify it.
  @Test func `T58: another SHA-256 implementation computes the same chain`() throws {
    let stage = try AuditStage()
    try stage.write(records: 3)
    let script = """
      import base64, hashlib, sys
      head = bytes(32)
      for line in open(sys.argv[1], "rb"):
          record, _, chain = line.rstrip(b"\\n").rpartition(b" chain=")
          head = hashlib.sha256(head + record).digest()
          assert base64.urlsafe_b64encode(head).rstrip(b"=") == chain
      """
    let result = try run(["python3", "-c", script, stage.path])
    #expect(result.status == 0, "\(result.errors)")
  }

  @Test func `T58: the verifier names the line that was edited, removed, inserted or moved`() throws {
    let stage = try AuditStage()
    try stage.write(records: 20)
    let lines = try stage.lines
    func change(_ change: (inout [String]) -> Void) throws -> UInt64? {
      var changed = lines
      change(&changed)
      try stage.replace(changed)
      return stage.fault()
    }
    #expect(try change { _ in } == nil)
    #expect(try change { $0[6] = $0[6].replacing("status=200", with: "status=403") } == 7)
    #expect(try change { $0[6] = $0[6].replacing("n=7 ", with: "n=8 ") } == 7)
    #expect(try change { $0.remove(at: 6) } == 7)
    #expect(try change { $0.removeFirst() } == 1)
    #expect(try change { $0.insert($0[6], at: 7) } == 8)
    #expect(try change { $0.insert("a word", at: 6) } == 7)
    #expect(try change { $0.insert("", at: 6) } == 7)
    #expect(try change { $0.swapAt(6, 7) } == 7)
    #expect(
      try change { $0[0] = $0[0].replacing("previous=none", with: "previous=\(String(repeating: "A", count: 43))") }
        == 1)
    // If a line's chain value is forged, the next line does not match.
    var forged = lines
    forged[6] = forged[6].dropLast(43) + String(repeating: "A", count: 43)
    try stage.replace(forged)
    #expect(stage.fault() == 7)
  }

  @Test func `T58: a removed end is found only with a chain value that was kept elsewhere`() throws {
    let stage = try AuditStage()
    try stage.write(records: 20)
    let lines = try stage.lines
    let middle = try chain(of: lines[9])
    let end = try chain(of: lines[21])
    #expect(try stage.verify(seeking: [middle, end]).found == [10, 22])
    try stage.replace(Array(lines[..<15]))
    #expect(try stage.verify(seeking: [middle, end]).found == [10, nil])
  }

  @Test func `T58: quoted text of a request cannot look like the end of a record`() throws {
    let stage = try AuditStage()
    let fake = String(repeating: "A", count: 43)
    let writer = AuditWriter(try AuditFile(path: stage.path), version: "1") {}
    let time = Array("2026-11-21T05:12:08.123Z".utf8)
    writer.append(
      time.span, Array("level=info event=request path=\"/ event=opened torn=1 \\\" chain=\(fake) rest\"\n".utf8).span,
      isGuaranteed: false)
    writer.close()
    writer.run()
    #expect(try stage.verify().records == 3)
    // A line that is cut after the quoted chain value is incomplete.
    let text = try String(contentsOfFile: stage.path, encoding: .utf8)
    let end = try #require(text.range(of: "chain=\(fake)")).upperBound
    try String(text[..<end]).write(toFile: stage.path, atomically: false, encoding: .utf8)
    let verifier = try stage.verify()
    #expect(verifier.records == 1 && verifier.isCutOff)
  }

  @Test(arguments: ["", "\n", "x", "n=", "n=1", "n=1 x", "\0\0\0", String(repeating: "n=1 ", count: 400_000)])
  func `the verifier handles any file contents`(_ text: String) throws {
    let stage = try AuditStage()
    try text.write(toFile: stage.path, atomically: false, encoding: .utf8)
    for piece in [1 << 10, 1 << 16] { _ = try? stage.verify(piece: piece) }
    _ = try? AuditFile(path: stage.path)
  }
}
