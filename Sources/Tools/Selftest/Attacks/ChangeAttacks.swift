internal import Console
internal import Configuration
internal import System

/// Attacks by what a reload finds under way.
enum ChangeAttacks {
  static let all = [Attack(47, "reload in mid-flight", midFlight)]

  private static let grace = "300ms"
  private static let patience: UInt64 = 6

  private static func midFlight(_ stage: SelftestStage) throws -> Outcome {
    var tally = AttackTally()
    for target in stage.byCredential {
      try stage.reloaded({ standIn in standIn.edit = { $0.set("limits", "revoked_grace", to: .text(grace)) } }) {
        cut(target, stage, &tally)
      }
    }
    guard tally.tried > 0 else { return .notApplicable("no request with a credential begins as this attack needs it") }
    return tally.outcome("what is under way without its rule is cut; what comes then is refused")
  }

  /// An answer that has begun and does not end, until its rule is taken away.
  private static func cut(_ target: Target, _ stage: SelftestStage, _ tally: inout AttackTally) {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nbegun"
    stage.servers.script.answering(rest: "", { _ in Array(head.utf8) }) {
      do throws(SocketError) {
        let socket = try target.connect(seconds: patience)
        try socket.send(Array(target.request("Content-Length: 10", body: "hello").utf8))
        let begun = try socket.receive()
        guard Reply(begun).status == 200 else { return }
        let began = Clock.monotonicMicroseconds
        do {
          try stage.reloaded({ standIn in
            standIn.edit = {
              $0.set("limits", "revoked_grace", to: .text(grace))
              $0.set(
                "services", target.name, "rules",
                to: .sequence([.mapping([.init("match", .text("/**")), .init("deny", .text("true"))])]))
            }
          }) {
            try stage.refuse(target.request(), to: target, "a request after the reload", [403], &tally)
            // An end, or a reset; not the deadline.
            _ = try? socket.receiveAll(maximum: 1 << 20)
            let seconds = (Clock.monotonicMicroseconds - began) / 1_000_000
            tally.check(
              seconds + 1 < patience, "\(target.name): an answer under way without its rule",
              seen: "it goes on after \(seconds) s",
              expected: "an end after \(grace)")
          }
        } catch { tally.check(false, "\(target.name): a reload", seen: "\(error)", expected: "it is put to use") }
      } catch {}
    }
  }
}
