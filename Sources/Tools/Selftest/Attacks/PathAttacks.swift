internal import Console
internal import Gateway
internal import Policy

/// Paths that mean one thing to the rules and another to the upstream.
enum PathAttacks {
  static let all = [Attack(12, "path tricks", tricks), Attack(13, "query tricks", queries)]

  private static func tricks(_ stage: SelftestStage) throws -> Outcome {
    var tally = AttackTally()
    var hasBorder = false
    for target in stage.targets {
      let outside = PathTricks.outside(of: target, stage.snapshot)
      hasBorder = hasBorder || outside != nil || target.mount != "/" || target.service.upstream.basePath.count > 1
      for path in PathTricks(target, outside: outside).all { try play(path, target, stage, &tally) }
    }
    guard hasBorder else { return .notApplicable("no rule denies anything, and every path belongs to the service") }
    return tally.outcome("\(tally.tried) paths: \(tally.refused) refused, \(tally.passed) stayed inside")
  }

  private static func play(
    _ path: String, _ target: Target, _ stage: SelftestStage, _ tally: inout AttackTally
  ) throws {
    let before = stage.script.count
    let reply = try stage.send(target.request(path: path), to: target)
    let requests = stage.script.received.dropFirst(before)
    guard let request = requests.first else {
      tally.refused += 1
      return tally.check(reply.isRefusal, "\(target.name): \(path)", seen: reply.short, expected: "a refusal")
    }
    let bad = UpstreamReading.all(of: request.target).first { !$0.isAllowed(for: request, target, stage.snapshot) }
    if bad == nil { tally.passed += 1 }
    tally.check(
      bad == nil, "\(target.name): \(path.harmless)",
      seen:
        "\(request.target.harmless) at the upstream, which may read \(String(decoding: bad?.path ?? [], as: UTF8.self).harmless)",
      expected: "400, or a path that the rules let through")
  }

  private static func queries(_ stage: SelftestStage) throws -> Outcome {
    var tally = AttackTally()
    for target in stage.injecting {
      for fragment in ["#x", "?q=1#x", "#/../x", "%23#"] {
        try stage.refuse(target.request(path: target.path + fragment), to: target, fragment, [400], &tally)
      }
      let allowed = Set(target.headers.allowClientHeaders)
      for name in [
        "access_token", "ACCESS_TOKEN", "acc%65ss_token", "access.token", "+access_token", "access_token[]", "api_key",
        "api-key", "apikey", "private_token", "auth_token", "sudo",
      ] where !allowed.contains(folded(name)) {
        for query in ["?\(name)=theirs", "?page=2&\(name)=theirs", "?page=2;\(name)=theirs"] {
          let got = try stage.pass(target.request(path: target.path + query), to: target, query, &tally)
          guard let got else { continue }
          tally.check(
            !got.request.target.contains("theirs"), "\(target.name): \(query)", seen: got.request.target,
            expected: "without that parameter")
        }
      }
      let harmless = "?page=2&q=a+b;c%20d&key=1&empty="
      let got = try stage.pass(target.request(path: target.path + harmless), to: target, harmless, &tally)
      tally.check(
        got?.request.target.hasSuffix(harmless) ?? true, "\(target.name): \(harmless)",
        seen: got?.request.target ?? "", expected: "untouched")
    }
    guard tally.tried > 0 else { return .notApplicable("no credential is added") }
    return tally.outcome("\(tally.refused) fragments refused; parameters that could be a credential removed")
  }
}
