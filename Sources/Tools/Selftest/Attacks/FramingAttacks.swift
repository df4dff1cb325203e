/// Messages that two readers would cut at different places.
enum FramingAttacks {
  static let all = [
    Attack(16, "request smuggling", smuggling), Attack(17, "early answers", early),
    Attack(26, "answers that do not end", desync),
  ]

  private static func smuggling(_ stage: SelftestStage) throws -> Outcome {
    var tally = AttackTally()
    for target in stage.targets {
      let inner = "\(target.method) \(target.path)?smuggled HTTP/1.1\r\nHost: \(target.authority)\r\n\r\n"
      for (name, text) in messages(target, inner) {
        let before = stage.script.count
        let reply = try stage.send(text, to: target)
        let requests = stage.script.received.dropFirst(before)
        let isSmuggled = requests.contains { $0.target.contains("smuggled") }
        if reply.isRefusal { tally.refused += 1 }
        tally.check(
          reply.isRefusal && requests.isEmpty, "\(target.name): \(name)",
          seen: isSmuggled ? "a second request at the upstream" : "\(reply.short), \(requests.count) at the upstream",
          expected: "a refusal, and nothing sent")
      }
      let plain = target.request("Transfer-Encoding: chunked", body: "5;x=y\r\nhello\r\n0\r\n\r\n")
      let got = try stage.pass(plain, to: target, "a well-formed chunked body", &tally)
      tally.check(
        got.map { $0.request.body == Array("hello".utf8) } ?? true, "\(target.name): a chunked body", seen: "another",
        expected: "the same")
      let alike = target.request("Content_Length: 0", "Transfer_Encoding: chunked")
      let bare = try stage.pass(alike, to: target, "look-alikes of lengths", &tally)
      tally.check(
        bare.map { !$0.request.head.split(separator: "\r\n").dropFirst().contains { $0.contains("_") } } ?? true,
        "\(target.name): look-alikes of lengths",
        seen: "at the upstream", expected: "removed")
    }
    return tally.outcome("\(tally.refused) messages refused; a well-formed one not")
  }

  private static func messages(_ target: Target, _ inner: String) -> [(name: String, text: String)] {
    func request(_ fields: String..., body: String) -> String {
      let lines = ["Host: \(target.authority)"] + fields
      return "\(target.method) \(target.path) HTTP/1.1\r\n" + lines.map { $0 + "\r\n" }.joined() + "\r\n" + body
    }
    let length = "Content-Length: \(inner.utf8.count)"
    let chunked = "Transfer-Encoding: chunked"
    let start = "\(target.method) \(target.path) HTTP/1.1"
    return [
      ("two kinds of length", request("Content-Length: 5", chunked, body: "0\r\n\r\n\(inner)")),
      ("two kinds of length, the other way", request(chunked, length, body: "0\r\n\r\n\(inner)")),
      ("two lengths", request("Content-Length: 0", length, body: inner)),
      ("a list of lengths", request("Content-Length: 0, \(inner.utf8.count)", body: inner)),
      ("a length with a sign", request("Content-Length: +0", body: inner)),
      ("a negative length", request("Content-Length: -1", body: inner)),
      ("an empty length", request("Content-Length:", body: inner)),
      ("a length in hexadecimal", request("Content-Length: 0x0", body: inner)),
      ("a length beyond 64 bits", request("Content-Length: 18446744073709551616", body: inner)),
      ("an unknown coding", request("Transfer-Encoding: xchunked", body: "0\r\n\r\n\(inner)")),
      ("chunked, identity", request("Transfer-Encoding: chunked, identity", body: "0\r\n\r\n\(inner)")),
      ("chunked twice", request(chunked, chunked, body: "0\r\n\r\n\(inner)")),
      ("an empty coding", request("Transfer-Encoding:", body: "0\r\n\r\n\(inner)")),
      ("a coding behind a vertical tab", request("Transfer-Encoding:\u{B}chunked", body: "0\r\n\r\n\(inner)")),
      ("a blank before the colon", request("Transfer-Encoding : chunked", body: "0\r\n\r\n\(inner)")),
      ("a folded coding", request("Transfer-Encoding:\r\n chunked", body: "0\r\n\r\n\(inner)")),
      ("a bare line feed", "\(start)\nHost: \(target.authority)\n\n\(inner)"),
      ("a bare line feed in a field", request("X-A: b\nContent-Length: 5", body: inner)),
      ("a bare carriage return", request("X-A: b\rContent-Length: 5", body: inner)),
      ("a NUL", request("X-A: b\u{0}c", body: inner)),
      ("HTTP/0.9", "\(target.method) \(target.path)\r\n\r\n\(inner)"),
      (
        "a coding in HTTP/1.0",
        request(chunked, body: "0\r\n\r\n\(inner)").replacing("HTTP/1.1\r\nHost", with: "HTTP/1.0\r\nHost")
      ),
      ("a chunk beyond 64 bits", request(chunked, body: "10000000000000000\r\n\(inner)")),
      ("a chunk with a sign", request(chunked, body: "-1\r\n\(inner)")),
      ("a chunk in 0x", request(chunked, body: "0x5\r\nhello\r\n0\r\n\r\n\(inner)")),
      ("a chunk line that ends in a line feed", request(chunked, body: "5\nhello\r\n0\r\n\r\n\(inner)")),
      ("a line feed in an extension", request(chunked, body: "5;a\nb\r\nhello\r\n0\r\n\r\n\(inner)")),
      ("a chunk that is longer than it says", request(chunked, body: "3\r\nhello\r\n0\r\n\r\n\(inner)")),
    ]
  }

  /// The upstream answers before the body is over: what is left of it must not become anybody's request, and what is left
  /// of the answer nobody else's answer.
  private static func early(_ stage: SelftestStage) throws -> Outcome {
    var tally = AttackTally()
    let line = "GET /early?smuggled HTTP/1.1\r\n\r\n"
    for target in stage.targets {
      try after("an answer instead of the rest of the body", target, stage, &tally) {
        let request = target.request("Content-Length: 10000000", body: String(repeating: line, count: 1000))
        _ = try stage.script.answering(rest: "", { UpstreamScript.ok($0, status: "413 Too Large", body: "early\n") }) {
          try stage.send(Array(request.utf8), to: target, seconds: 2)
        }
      }
      try after("an answer that overtakes the body", target, stage, &tally) {
        let request = target.request("Content-Length: \(2 * line.utf8.count)", body: line)
        let half: UpstreamScript.Answer = { _ in Array("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nearly\n".utf8) }
        _ = try stage.script.answering(rest: "late\n", half) { try stage.send(request, thenMore: line, to: target) }
      }
    }
    return tally.outcome("no connection was used again, and the next request got its own answer")
  }

  private static func after(
    _ name: String, _ target: Target, _ stage: SelftestStage, _ tally: inout AttackTally, play: () throws -> Void
  ) throws {
    let first = try stage.receivedDuring(play)
    guard let next = try stage.pass(target.request(), to: target, "after \(name)", &tally) else { return }
    tally.check(
      !first.contains { $0.connection == next.request.connection } && next.reply.body == target.usualBody,
      "\(target.name): after \(name)", seen: "the same connection, or another's answer",
      expected: "another connection and its own answer")
    tally.check(
      !stage.script.received.contains { $0.target.contains("/early?smuggled") }, "\(target.name): \(name)",
      seen: "a request out of the body", expected: "no request")
  }

  private static func desync(_ stage: SelftestStage) throws -> Outcome {
    var tally = AttackTally()
    let extra = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nEVIL\n"
    let switching = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: evil\r\n\r\n"
    let answers: [(name: String, answer: UpstreamScript.Answer)] = [
      ("a second answer", { UpstreamScript.ok($0) + Array(extra.utf8) }),
      (
        "two kinds of length",
        { _ in Array("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n\(extra)".utf8)
        }
      ),
      ("two lengths", { _ in Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Length: 9\r\n\r\n\(extra)".utf8) }),
      ("a body with 304", { _ in Array("HTTP/1.1 304 Not Modified\r\n\r\n\(extra)".utf8) }),
      ("a switch of protocols that nobody asked for", { _ in Array((switching + extra).utf8) }),
    ]
    for target in stage.targets {
      for (name, answer) in answers {
        var first: Reply?
        let before = try stage.receivedDuring {
          first = try stage.script.answering(answer) { try stage.send(target.request(), to: target) }
        }
        tally.check(
          !(first?.text.contains("EVIL") ?? true), "\(target.name): \(name)", seen: "the client got it",
          expected: "not a byte of it")
        guard let next = try stage.pass(target.request(), to: target, "after \(name)", &tally) else { continue }
        tally.check(
          !before.contains { $0.connection == next.request.connection } && next.reply.body == target.usualBody,
          "\(target.name): after \(name)", seen: "the same connection was used", expected: "another connection")
      }
    }
    return tally.outcome("\(answers.count) kinds; no connection was used again")
  }
}
