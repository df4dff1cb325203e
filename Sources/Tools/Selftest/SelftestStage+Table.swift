internal import Console
internal import Gateway
internal import Policy

/// The table of attacks under the configuration's rules.
extension SelftestStage {
  /// Plays all rows of a threat that concern the attacked services.
  /// - Returns: how many there were.
  @discardableResult
  func playTable(_ threat: Int, _ tally: inout AttackTally) throws -> Int {
    let before = tally.tried
    for target in targets {
      for (index, place) in places(of: target).enumerated() {
        for row in AttackTable.rows(at: place) where row.threat == threat && (index == 0 || row.isOfOwnField) {
          try play(row, place, target, &tally)
        }
      }
    }
    return tally.tried - before
  }

  private func play(_ row: AttackRow, _ place: AttackPlace, _ target: Target, _ tally: inout AttackTally) throws {
    let messages = place.messages(of: row)
    var reply = Reply([])
    let requests = try receivedDuring {
      let answer = messages.answer
      reply = try servers.script.answering({ answer ?? UpstreamScript.ok($0) }) {
        try send(messages.request, to: target)
      }
    }
    let fault = row.fault(reply, requests, at: place)
    if fault == nil { if requests.isEmpty { tally.refused += 1 } else { tally.passed += 1 } }
    tally.check(
      fault == nil, "\(target.name): \(place.text(row.name))", seen: fault?.seen.harmless ?? "",
      expected: fault?.expected ?? "")
    guard case .contained = row.expectation else { return }
    guard let next = try pass(target.request(), to: target, "after \(place.text(row.name))", &tally) else { return }
    tally.check(
      !requests.contains { $0.connection == next.request.connection } && next.reply.body == target.usualBody,
      "\(target.name): after \(place.text(row.name))", seen: "the same connection was used again",
      expected: "another connection")
  }

  /// One for each field that its credential adds.
  private func places(of target: Target) -> [AttackPlace] {
    let own = canaries(of: target)
    return (own.isEmpty ? [nil] : own.map(Optional.some)).map { canary in
      AttackPlace(
        method: target.method, path: target.path, mount: target.mount, outside: outside(of: target),
        authority: target.authority, upstream: target.upstream.authority,
        stranger: servers.evil.origin.authority, port: target.port,
        credential: canary.map { ($0.field, $0.value) },
        allowed: Set(target.headers.allowClientHeaders + own.map { folded($0.field) }),
        onClientHeader: target.grant == nil ? nil : target.headers.onClientHeader,
        escape: { [snapshot] request in
          UpstreamReading.all(of: request.target).first { !$0.isAllowed(for: request, target, snapshot) }.map {
            String(decoding: $0.path, as: UTF8.self)
          }
        })
    }
  }

  /// A path below the mount that the live rules refuse.
  private func outside(of target: Target) -> String? {
    guard let rules = target.service.rules else { return nil }
    let denied = rules.filter { $0.action == .deny }.flatMap { Target.witnesses(of: $0.pattern.text) }
    let paths = denied.map { target.mount + $0.dropFirst() } + [target.mount + "admin/selftest", target.mount + "x"]
    return paths.first { path in
      let head = "\(target.method) \(path) HTTP/1.1\r\nHost: \(target.authority)\r\n\r\n"
      return snapshot.explain(head, listener: target.service.listener)?.refusal != nil
    }
  }
}
