internal import Console
internal import Policy

struct RuleLines {
  let service: Service
  let verdicts: [RuleVerdict]
  let file: String
  let terminal: Terminal

  var lines: [String] {
    guard let rules = service.rules else {
      return ["none: every request is sent, with the service's credential"]
    }
    if rules.isEmpty { return ["an empty list: no request is sent"] }
    let considered = verdicts.filter { rules.indices.contains($0.rule) }
    if considered.isEmpty { return ["not considered"] }
    let patterns = width(considered.map { rules[$0.rule].pattern.text })
    let kinds = width(considered.map { kind(rules[$0.rule]) })
    return considered.flatMap { verdict -> [String] in
      let rule = rules[verdict.rule]
      let start = "\(verdict.rule + 1)".padded(to: "\(considered.count)".count)
      let line =
        "\(start)  \(rule.pattern.text.padded(to: patterns))  \(kind(rule).padded(to: kinds))  \(reason(verdict.outcome, rule))"
      guard verdict.outcome == .won else { return [line] }
      return [terminal.bold(line)] + (rule.description.map { ["   \"\($0.harmless)\""] } ?? [])
        + (rule.message.map { ["   message: \"\($0.harmless)\""] } ?? [])
    }
  }

  private func width(_ texts: [String]) -> Int { min(texts.map(\.count).max() ?? 0, 36) }

  private func kind(_ rule: Rule) -> String {
    let methods = rule.methods.names.isEmpty ? "any" : rule.methods.names.joined(separator: ",")
    switch rule.action {
    case .deny:
      let deny = rule.pattern.ignoresCase ? "deny" : "deny exact"
      return methods == "any" ? deny : "\(deny) \(methods)"
    case .forward: return methods
    }
  }

  private func reason(_ outcome: RuleVerdict.Outcome, _ rule: Rule) -> String {
    switch outcome {
    case .won: "decides (\(file.split(separator: "/").last ?? ""):\(rule.line))"
    case .methodDiffers: "another method"
    case .pathDiffers: "another path"
    case .notReached: "not reached"
    }
  }
}
