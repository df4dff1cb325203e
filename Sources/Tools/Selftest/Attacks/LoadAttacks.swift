internal import Console
internal import Configuration
internal import Gateway
internal import Glibc
internal import HTTP1
internal import System

/// Clients that take their time, and those that come in numbers.
enum LoadAttacks {
  static let all = [
    Attack(54, "slow and greedy clients", slow), Attack(56, "no descriptors left", crowd),
  ]

  /// For a head. Who is still there after so many seconds is let wait for ever.
  private static let time = "300ms"
  private static let patience: UInt64 = 6
  private static let most = 8
  /// Bounds of what the configuration allows. The limits that are asked for come from the code under test: without these, one
  /// that lost its own would have us make up a head that fills the memory.
  private static let mostHeadBytes = 1 << 20
  private static let mostFields = 4096

  private static func slow(_ stage: SelftestStage) throws -> Outcome {
    var tally = AttackTally()
    guard let target = stage.targets.first else { return .notApplicable("nothing to ask") }
    try stage.reloaded({ standIn in standIn.edit = { $0.set("limits", "client_head", to: .text(time)) } }) {
      for (name, drips) in [("a head that drips in", true), ("a connection that asks nothing", false)] {
        tally.check(
          ends(target, dripping: drips), "\(target.name): \(name)", seen: "it is open after \(patience) s",
          expected: "closed after \(time)")
      }
    }
    let headBytes = min(stage.snapshot.headLimits.headBytes, mostHeadBytes)
    let fields = min(stage.snapshot.headLimits.fields, mostFields)
    let long = "X-Long: " + String(repeating: "x", count: headBytes)
    try stage.refuse(target.request(long), to: target, "a head of more than \(headBytes) bytes", [431], &tally)
    try stage.refuse("GET / HTTP/1.1\r\n" + long, to: target, "a head that does not end", [431], &tally)
    let many = (0...fields).map { "X-\($0): x" }.joined(separator: "\r\n")
    try stage.refuse(target.request(many), to: target, "more than \(fields) fields", [431], &tally)
    try stage.pass(target.request(), to: target, "afterwards", &tally)
    return tally.outcome("slow heads are closed in time; heads beyond the limits are refused")
  }

  private static func ends(_ target: Target, dripping: Bool) -> Bool {
    let deadline = Clock.monotonicMicroseconds + patience * 1_000_000
    do throws(SocketError) {
      let socket = try target.connect(seconds: patience)
      if dripping {
        try socket.send(Array("GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ".utf8))
        while Clock.monotonicMicroseconds < deadline {
          try socket.send([UInt8(ascii: "x")])
          usleep(100_000)
        }
        return false
      }
      while try !socket.receive().isEmpty {}
      return true
    } catch {
      return Clock.monotonicMicroseconds < deadline
    }
  }

  private static func crowd(_ stage: SelftestStage) throws -> Outcome {
    var tally = AttackTally()
    guard let target = stage.targets.first else { return .notApplicable("nothing to ask") }
    try stage.reloaded({ standIn in
      standIn.edit = {
        $0.set("limits", "connections", to: .text("\(most)"))
        // Connections beyond one user's share would be refused, and would look as if they waited.
        $0.set("limits", "connections_per_user", to: .text("\(2 * most)"))
      }
    }) {
      let crowd = Crowd(of: most + 4, at: target)
      let isHeldBack = !target.answers(seconds: 1)
      tally.check(
        isHeldBack, "\(target.name): one connection more than \(most)", seen: "it is served", expected: "it waits")
      crowd.leave()
      let isBack = target.answers(seconds: 10)
      tally.check(isBack, "\(target.name): when the others have gone", seen: "no answer", expected: "an answer")
    }
    try stage.pass(target.request(), to: target, "afterwards", &tally)
    return tally.outcome(
      "no more than \(most) of \(most + 4) connections are served at once, and all when they have gone")
  }
}

/// Connections that have begun to ask, and do not go on.
private final class Crowd {
  private var members: [Member] = []

  private final class Member {
    let socket: BlockingSocket
    init(_ socket: consuming BlockingSocket) { self.socket = socket }
  }

  init(of count: Int, at target: Target) {
    for _ in 0..<count {
      do throws(SocketError) {
        let member = Member(try target.connect(seconds: 10))
        try member.socket.send(Array("GET / HTTP/1.1\r\n".utf8))
        members.append(member)
      } catch {}  // One that is refused is not there.
    }
  }

  func leave() { members = [] }
}
