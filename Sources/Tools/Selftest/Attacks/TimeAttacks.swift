internal import Console
internal import Gateway
internal import HTTP1
internal import System

/// One message that costs as much as thousands: of a caller who is not admitted, of one who is, and of an upstream.
enum TimeAttacks {
  static let all = [Attack(60, "one message that costs seconds", costly)]

  /// Seconds. What is quadratic takes minutes here, and what is linear milliseconds.
  private static let patience: UInt64 = 5
  /// Bytes; those that the configuration's limits let through count, if they are fewer.
  private static let most = 60_000
  private static let interimAnswers = 31

  private static func costly(_ stage: SelftestStage) throws -> Outcome {
    var tally = AttackTally()
    guard let target = stage.targets.first else { return .notApplicable("nothing to ask") }
    try stage.reloaded({ $0.uid &+= 1 }) { strangers(at: target, stage, &tally) }
    try stage.pass(target.request(), to: target, "afterwards", &tally)
    let room = min(stage.snapshot.headLimits.headBytes, most) - 2_000
    guard room > 0 else { return .notApplicable("limits.head is too small for it") }
    for target in stage.targets {
      caller(at: target, room, stage, &tally)
      upstream(of: target, room, stage, &tally)
      try stage.pass(target.request(), to: target, "afterwards", &tally)
    }
    return tally.outcome("strangers are closed at their first byte; a full request and a full answer hold up nobody")
  }

  /// Callers who are not admitted: none is at that time.
  private static func strangers(at target: Target, _ stage: SelftestStage, _ tally: inout AttackTally) {
    let list = target.request("Connection: " + String(repeating: "a,", count: most / 2), connection: "")
    for (name, request) in [("one byte", "G"), ("a long list in Connection", list)] {
      for _ in 0..<20 {
        let reply = end(of: Array(request.utf8), at: target)
        tally.check(
          reply.map { $0.status == 403 } ?? false, "\(target.name): \(name) of a caller who is not admitted",
          seen: reply?.short ?? "open after \(patience) s", expected: "403, and closed")
      }
    }
  }

  /// The answer to these bytes, when the connection has ended; nil: it does not end in time.
  private static func end(of bytes: [UInt8], at target: Target) -> Reply? {
    var answer: [UInt8] = []
    do throws(SocketError) {
      let socket = try target.connect(seconds: patience)
      try socket.send(bytes)
      while case let more = try socket.receive(), !more.isEmpty { answer += more }
    } catch {
      return answer.isEmpty ? nil : Reply(answer)
    }
    return Reply(answer)
  }

  /// Tags with other servers' readings in them, below a path of many levels.
  private static func caller(at target: Target, _ room: Int, _ stage: SelftestStage, _ tally: inout AttackTally) {
    let levels = String(repeating: String(repeating: "x", count: 500) + "/", count: 25)
    let tags = String(repeating: "<;a%2Fb//c%253Bd>", count: min(8_000, room / 2) / 17)
    for path in [target.path, target.path + (target.path.hasSuffix("/") ? "" : "/") + levels] {
      let request = target.request("If: \(tags) (<x>)", path: path)
      hold(target, "a long If", &tally) { socket throws(SocketError) in try socket.send(Array(request.utf8)) }
    }
  }

  /// Links that do not end, in each of many interim answers and in the last one.
  private static func upstream(of target: Target, _ room: Int, _ stage: SelftestStage, _ tally: inout AttackTally) {
    let link = "Link: " + String(repeating: "<", count: room) + "\r\n"
    stage.servers.script.answering({ request in
      Array(String(repeating: "HTTP/1.1 103 Early Hints\r\n\(link)\r\n", count: interimAnswers).utf8)
        + UpstreamScript.ok(request, fields: link)
    }) {
      hold(target, "links without an end", &tally) { socket throws(SocketError) in
        try socket.send(Array(target.request().utf8))
      }
    }
  }

  /// Checks that a request is answered in time, and others meanwhile.
  private static func hold(
    _ target: Target, _ name: String, _ tally: inout AttackTally,
    _ send: (borrowing BlockingSocket) throws(SocketError) -> Void
  ) {
    var answer: [UInt8] = []
    do throws(SocketError) {
      let socket = try target.connect(seconds: patience)
      try send(socket)
      tally.check(
        target.answers(seconds: patience), "\(target.name): another request beside \(name)",
        seen: "no answer in \(patience) s", expected: "its answer")
      answer = try socket.receive()
    } catch {}  // An end without an answer is seen below.
    tally.check(
      !answer.isEmpty, "\(target.name): \(name)", seen: "no answer in \(patience) s", expected: "any answer")
  }
}

extension Target {
  /// Whether a request that no listener leaves without an answer, as it has no Host, gets it.
  func answers(seconds: UInt64) -> Bool {
    do throws(SocketError) {
      let socket = try connect(seconds: seconds)
      try socket.send(Array("GET / HTTP/1.1\r\n\r\n".utf8))
      return Reply(try socket.receive()).status == 400
    } catch {
      return false
    }
  }
}
