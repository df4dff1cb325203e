internal import Console
internal import Gateway
internal import Policy

/// Fields by which a client would choose the credential, or who it acts as.
enum FieldAttacks {
  static let all = [
    Attack(10, "confused authority", authority), Attack(14, "a second credential line", doubles),
    Attack(15, "Connection: authorization", nominated), Attack(18, "methods that reflect or tunnel", methods),
    Attack(45, "the client picks the account", accounts),
  ]

  private static func authority(_ stage: SelftestStage) throws -> Outcome {
    var tally = AttackTally()
    for target in stage.targets {
      let wanted = target.upstream.authority
      for form in ["http://evil.test", "https://evil.test", "http://evil.test:80", "http://localhost@evil.test"] {
        let request = target.request(path: form + target.path)
        try stage.refuse(request, to: target, "GET \(form)…", nil, &tally)
      }
      for fields in [
        "X-Forwarded-Host: evil.test", "Forwarded: host=evil.test", "X-Original-URL: http://evil.test/",
        "X-Rewrite-URL: /evil.test", "X-Forwarded-For: evil.test", "X_Forwarded_Host: evil.test", "X-Host: x",
      ] {
        guard let got = try stage.pass(target.request(fields), to: target, fields, &tally)?.request else { continue }
        let isAllowed = target.headers.allowClientHeaders.contains(folded(String(fields.prefix { $0 != ":" })))
        let isBare = target.grant == nil || isAllowed || !got.head.contains("evil.test")
        let hasOne = got.values("Host") == [wanted] && isBare
        tally.check(
          hasOne, "\(target.name): \(fields)",
          seen:
            "Host: \(got.values("Host").joined(separator: ", "))\(got.head.contains("evil.test") ? ", and the field" : "")",
          expected: "Host: \(wanted) and no word of another")
      }
    }
    return tally.outcome("\(tally.refused) refused; Host is the upstream's own in the rest")
  }

  private static func doubles(_ stage: SelftestStage) throws -> Outcome {
    var tally = AttackTally()
    for target in stage.injecting {
      let own = stage.canaries.filter { $0.credential == target.grant }
      for canary in own {
        for lines in variants(of: canary.field) { try play(lines, canary, target, stage, &tally) }
      }
      let allowed = Set(target.headers.allowClientHeaders + own.map { folded($0.field) })
      for name in ["Authorization", "Proxy-Authorization", "X-Api-Key", "X_Api_Key", "Private-Token", "X_AUTH_TOKEN"]
      where !allowed.contains(folded(name)) {
        guard let got = try stage.pass(target.request("\(name): theirs"), to: target, name, &tally)?.request else {
          continue
        }
        tally.check(
          !got.head.contains("theirs"), "\(target.name): \(name)", seen: "it went out", expected: "removed")
      }
    }
    guard tally.tried > 0 else { return .notApplicable("no credential is added") }
    return tally.outcome("\(counted(tally.tried, "try", "tries")): never two lines, never the client's beside ours")
  }

  private static func variants(of name: String) -> [String] {
    [
      "\(name): theirs", "\(name.lowercased()): theirs", "\(name.uppercased()): theirs",
      "\(name): theirs\r\n\(name.lowercased()): theirs", "\(name) : theirs", "\(name)\t: theirs", "\(name):",
      "X-Fold: x\r\n \(name): theirs", "X-Fold: x\r\n\t\(name): theirs", " \(name): theirs", "\(name)\u{0}: theirs",
      "\(name.replacing("-", with: "_")): theirs", "\(name.lowercased().replacing("-", with: "_")): theirs",
      "\(name): theirs\rX: y", "\(name)\u{A0}: theirs",
    ]
  }

  private static func play(
    _ lines: String, _ canary: Canary, _ target: Target, _ stage: SelftestStage, _ tally: inout AttackTally
  ) throws {
    let before = stage.script.count
    let reply = try stage.send(target.request(lines), to: target)
    let requests = stage.script.received.dropFirst(before)
    let shown = lines.replacing("\r\n", with: ", ").harmless
    guard let request = requests.first else {
      return tally.check(reply.isRefusal, "\(target.name): \(shown)", seen: reply.short, expected: "a refusal")
    }
    let values = request.values(canary.field)
    // Of `on_client_header: keep` the client's own wins, alone.
    let isKept = target.headers.onClientHeader == .keep && (values == ["theirs"] || values == [""])
    tally.check(
      values == [canary.value] || isKept, "\(target.name): \(shown)",
      seen: "\(values.count) lines \(canary.field), \(values.contains(canary.value) ? "with" : "without") ours",
      expected: "one, ours, or a refusal")
  }

  private static func nominated(_ stage: SelftestStage) throws -> Outcome {
    var tally = AttackTally()
    for target in stage.injecting {
      for canary in stage.canaries where canary.credential == target.grant {
        for name in [canary.field, canary.field.lowercased(), "keep-alive,\(canary.field) , x"] {
          let request = target.request(connection: "Connection: close, \(name)")
          try stage.refuse(request, to: target, "Connection: \(name)", [400], &tally)
        }
        for name in [
          "Authorization", "X-Api-Key", "Host", "Cookie", "Content-Length", "Transfer-Encoding",
          "X-Api-Key, Host, Cookie, Transfer-Encoding",
        ] {
          let before = stage.script.count
          let reply = try stage.send(target.request(connection: "Connection: close, \(name)"), to: target)
          let request = stage.script.received.dropFirst(before).first
          let isWhole = request.map { $0.values(canary.field) == [canary.value] && $0.values("Host").count == 1 }
          tally.check(
            isWhole ?? reply.isRefusal, "\(target.name): Connection: close, \(name)",
            seen: request == nil ? reply.short : "a request without its credential",
            expected: "a refusal, or a request with its credential")
        }
      }
    }
    guard tally.tried > 0 else { return .notApplicable("no credential is added") }
    return tally.outcome("\(counted(tally.tried, "name")); nothing went out without its credential")
  }

  private static func methods(_ stage: SelftestStage) throws -> Outcome {
    var tally = AttackTally()
    for target in stage.targets {
      for method in ["TRACE", "TRACK", "trace", "Trace"] {
        try stage.refuse(target.request(method: method), to: target, method, [405], &tally)
      }
      let connect = target.request(method: "CONNECT", path: "evil.test:443", host: "evil.test:443")
      try stage.refuse(connect, to: target, "CONNECT", [405], &tally)

      let options = target.request(method: "OPTIONS")
      let rule = stage.snapshot.explain(options, listener: target.service.listener)?.route?.rule
      let isNamed = rule.flatMap { target.service.rules?[$0].methods.names.contains("OPTIONS") } ?? false
      let got = try stage.receivedDuring { _ = try stage.send(options, to: target) }
      let leaked = got.contains { request in stage.canaries.contains { request.head.contains($0.value) } }
      tally.check(
        isNamed || !leaked, "\(target.name): OPTIONS", seen: "with the credential", expected: "without it")
      guard target.grant != nil else { continue }
      for name in ["X-HTTP-Method-Override", "X-HTTP-Method", "X_Method_Override"]
      where !target.headers.allowClientHeaders.contains(folded(name)) {
        let got = try stage.pass(target.request("\(name): DELETE"), to: target, name, &tally)
        tally.check(
          got?.request.values(name).isEmpty ?? true, "\(target.name): \(name)", seen: "it went out", expected: "removed"
        )
      }
    }
    return tally.outcome("\(tally.refused) refused; OPTIONS without a credential; overrides removed")
  }

  private static func accounts(_ stage: SelftestStage) throws -> Outcome {
    var tally = AttackTally()
    for target in stage.injecting {
      for name in [
        "Sudo", "X-Sudo", "Impersonate-User", "Impersonate_Group", "X-Impersonate-User", "X-Goog-User-Project",
        "OpenAI-Organization", "OpenAI_Project", "Remote-User", "X-Remote-User", "X-Forwarded-User", "X-WebAuth-User",
        "X-Auth-Request-Email", "X-Real-IP",
      ] where !target.headers.allowClientHeaders.contains(folded(name)) {
        let got = try stage.pass(target.request("\(name): theirs"), to: target, name, &tally)
        tally.check(
          !(got?.request.head.contains("theirs") ?? false), "\(target.name): \(name)", seen: "it went out",
          expected: "removed")
      }
    }
    guard tally.tried > 0 else { return .notApplicable("no credential is added") }
    return tally.outcome("\(counted(tally.passed, "field")) removed")
  }
}
