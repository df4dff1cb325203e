internal import Console

/// Messages whose end two parsers could find at different positions.
enum FramingAttacks {
  static let all: [Attack] = [
    Attack(16, "request smuggling", smuggling), Attack(17, "early responses", early),
    Attack(26, "responses that do not end") { _, tally in
      tally.outcome("\(counted(tally.tried, "try", "tries")); no connection was used again")
    },
  ]

  private static func smuggling(_ stage: SelftestStage, _ tally: inout AttackTally) throws -> Outcome {
    for target in stage.targets {
      let plain = target.request("Transfer-Encoding: chunked", body: "5;x=y\r\nhello\r\n0\r\n\r\n")
      let got = try stage.expectSuccess(plain, to: target, "a well-formed chunked body", &tally)
      tally.check(
        got.map { $0.request.body == Array("hello".utf8) } ?? true, "\(target.name): a chunked body",
        seen: "another body", expected: "the same body")
      let alike = target.request("Content_Length: 0", "Transfer_Encoding: chunked")
      let bare = try stage.expectSuccess(alike, to: target, "look-alikes of length fields", &tally)
      tally.check(
        bare.map { !$0.request.head.split(separator: "\r\n").dropFirst().contains { $0.contains("_") } } ?? true,
        "\(target.name): look-alikes of length fields",
        seen: "the upstream got them", expected: "removed")
    }
    return tally.outcome("\(tally.refused) messages refused; a well-formed one accepted")
  }

  /// Attack T17: the upstream responds before the end of the request body.
  private static func early(_ stage: SelftestStage, _ tally: inout AttackTally) throws -> Outcome {
    // The rest of the body must not become a request, and the rest of the response must not reach another client.
    let line = "GET /early?smuggled HTTP/1.1\r\n\r\n"
    for target in stage.targets {
      try after("a response before the rest of the body", target, stage, &tally) {
        let request = target.request("Content-Length: 10000000", body: String(repeating: line, count: 1000))
        _ = try stage.servers.script.responding(
          rest: "", { UpstreamScript.ok($0, status: "413 Too Large", body: "early\n") }
        ) { try stage.send(request, to: target, seconds: 2) }
      }
      try after("a response that overtakes the body", target, stage, &tally) {
        let request = target.request("Content-Length: \(2 * line.utf8.count)", body: line)
        let half: UpstreamScript.Responder = { _ in Array("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nearly\n".utf8) }
        _ = try stage.servers.script.responding(rest: "late\n", half) {
          try stage.send(request, thenMore: line, to: target)
        }
      }
    }
    return tally.outcome("no connection was used again, and the next request got its own response")
  }

  private static func after(
    _ name: String, _ target: Target, _ stage: SelftestStage, _ tally: inout AttackTally, attack: () throws -> Void
  ) throws {
    let first = try stage.receivedDuring(attack)
    guard let next = try stage.expectSuccess(target.request(), to: target, "after \(name)", &tally) else { return }
    tally.check(
      !first.contains { $0.connection == next.request.connection } && next.reply.body == target.usualBody,
      "\(target.name): after \(name)", seen: "the same connection, or the response to another request",
      expected: "another connection and its own response")
    tally.check(
      !stage.servers.script.received.contains { $0.target.contains("/early?smuggled") }, "\(target.name): \(name)",
      seen: "the upstream got a request from the body", expected: "no request")
  }
}
