internal import Audit
internal import Console
internal import Configuration
internal import Glibc
internal import System

/// The record of what went out.
enum AuditAttacks {
  static let all = [Attack(58, "lost or forged audit", audit)]

  private static func audit(_ stage: SelftestStage) throws -> Outcome {
    var tally = AttackTally()
    guard let target = stage.targets.first else { return .notApplicable("nothing to ask") }
    let path = "\(stage.directory.path)/selftest.audit"
    let count = 5
    try stage.reloaded({ standIn in standIn.edit = { $0.set("audit", to: .mapping([.init("file", .text(path))])) } }) {
      for _ in 0..<count { try stage.pass(target.request(), to: target, "with an audit file", &tally) }
      // The audit file is written beside the requests, which do not wait for it.
      let deadline = Clock.monotonicMicroseconds + 5_000_000
      while lines(path) < count, Clock.monotonicMicroseconds < deadline { usleep(20_000) }
    }
    let text = FileText.read(path) ?? ""
    tally.check(lines(path) >= count, "\(count) requests", seen: "\(lines(path)) records", expected: "one for each")
    tally.check(isWhole(path), "the file as it was written", seen: "a broken chain", expected: "it is whole")
    tally.check(
      !stage.canaries.contains { text.contains($0.secret) }, "the file", seen: "the secret",
      expected: "not a trace of it")
    for (name, change) in Self.forgeries {
      try stage.directory.write("forged.audit", change(text))
      tally.check(
        !isWhole("\(stage.directory.path)/forged.audit"), "the file, \(name)",
        seen: "bearerctl audit verify says it is whole",
        expected: "it is not")
    }
    return tally.outcome("\(count) requests, \(lines(path)) records; \(Self.forgeries.count) forgeries found")
  }

  private static let forgeries: [(String, @Sendable (String) -> String)] = [
    ("with one byte changed", { $0.replacing("status=200", with: "status=201", maxReplacements: 1) }),
    ("without its second record", { text in drop(1, of: text) }),
    (
      "with two records exchanged",
      { text in
        var lines = text.split(separator: "\n").map(String.init)
        if lines.count > 2 { lines.swapAt(1, 2) }
        return lines.map { $0 + "\n" }.joined()
      }
    ),
  ]

  private static func drop(_ index: Int, of text: String) -> String {
    text.split(separator: "\n").enumerated().filter { $0.offset != index }.map { $0.element + "\n" }.joined()
  }

  private static func lines(_ path: String) -> Int { (FileText.read(path) ?? "").split(separator: "\n").count }

  private static func isWhole(_ path: String) -> Bool {
    var verifier = AuditVerifier()
    do throws(AuditVerifier.Fault) {
      try verifier.take(Array((FileText.read(path) ?? "").utf8).span)
      try verifier.finish()
      return true
    } catch {
      return false
    }
  }
}
