internal import Console
internal import Gateway
internal import Policy

extension SelftestStage {
  func runTable(_ threat: Int, _ tally: inout AttackTally) throws {
    for target in targets {
      for (index, context) in contexts(of: target).enumerated() {
        for row in AttackTable.rows(at: context) where row.threat == threat && (index == 0 || row.isOfOwnField) {
          try run(row, context, target, &tally)
        }
      }
    }
  }

  private func run(_ row: AttackRow, _ context: AttackContext, _ target: Target, _ tally: inout AttackTally) throws {
    let messages = context.messages(of: row)
    var reply = Reply([])
    let requests = try receivedDuring {
      let response = messages.response
      reply = try servers.script.responding({ response ?? UpstreamScript.ok($0) }) {
        try send(messages.request, to: target)
      }
    }
    let fault = row.fault(reply, requests, at: context)
    if fault == nil { if requests.isEmpty { tally.refused += 1 } else { tally.passed += 1 } }
    tally.check(
      fault == nil, "\(target.name): \(context.expanded(row.name))", seen: fault?.seen.harmless ?? "",
      expected: fault?.expected ?? "")
    guard case .contained = row.expectation else { return }
    guard let next = try expectSuccess(target.request(), to: target, "after \(context.expanded(row.name))", &tally)
    else { return }
    tally.check(
      !requests.contains { $0.connection == next.request.connection } && next.reply.body == target.usualBody,
      "\(target.name): after \(context.expanded(row.name))", seen: "the same connection was used again",
      expected: "another connection")
  }

  /// Returns a context for each header field of the credential, or a single context without a field.
  private func contexts(of target: Target) -> [AttackContext] {
    let own = canaries(of: target)
    return (own.isEmpty ? [nil] : own.map(Optional.some)).map { canary in
      AttackContext(
        method: target.method, path: target.path, mount: target.mount, deniedPath: outside(of: target),
        authority: target.authority, upstream: target.upstream.authority,
        foreignAuthority: servers.evil.origin.authority, port: target.port,
        credential: canary.map { ($0.field, $0.value) },
        allowed: Set(target.headers.allowClientHeaders + own.map { folded($0.field) }),
        onClientHeader: target.grant == nil ? nil : target.headers.onClientHeader,
        disallowedReading: { [snapshot] request in
          UpstreamReading.all(of: request.target).first { !$0.isAllowed(for: request, target, snapshot) }.map {
            String(decoding: $0.path, as: UTF8.self)
          }
        })
    }
  }

  /// Returns a path of the service that the rules refuse; `nil` if none is found.
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
