internal import Console
internal import Configuration
internal import System

/// One thing that hangs.
enum HangingAttacks {
  static let all = [Attack(55, "a blocked event loop", hanging)]

  /// Seconds: no client may wait for longer because another does.
  private static let patience: UInt64 = 3

  private static func hanging(_ stage: SelftestStage) throws -> Outcome {
    var tally = AttackTally()
    guard let target = stage.byCredential.first, let canary = stage.canaries(of: target).first else {
      return .notApplicable("no credential is added")
    }
    try stage.reloaded({ $0.source(canary.file, is: .command("/bin/sleep", "1000", timeout: "500ms")) }) {
      do throws(SocketError) {
        let waiting = try target.connect(seconds: 4 * patience)
        try waiting.send(Array(target.request().utf8))
        for _ in 0..<5 {
          tally.check(
            target.answers(seconds: patience),
            "\(target.name): another request, while a program hangs that prints the secret",
            seen: "no answer in \(patience) s", expected: "its answer")
        }
        let reply = Reply((try? waiting.receive()) ?? [])
        tally.check(
          reply.status == 503, "\(target.name): the request that waits for that program", seen: reply.short,
          expected: "503 when the program's time is over")
      } catch {}
    }
    _ = try stage.settle(target) { $0.values(canary.field).contains(canary.value) }
    return tally.outcome("a program that hangs delays its own credential alone, and not for ever")
  }
}
