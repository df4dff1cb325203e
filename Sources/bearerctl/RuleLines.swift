internal import Gateway
internal import Policy

/// The rules of a service as they were considered: number, pattern, methods, what they do, and why each won or lost.
struct RuleLines {
  private let service: Service
  private let verdicts: [RuleVerdict]
  private let terminal: Terminal

  init(_ service: Service, _ verdicts: [RuleVerdict], terminal: Terminal) {
    self.service = service
    self.verdicts = verdicts
    self.terminal = terminal
  }

  var lines: [String] {
    guard let rules = service.rules else {
      return ["there are none: everything goes out, with the service's credential"]
    }
    let judged = verdicts.filter { rules.indices.contains($0.rule) }
    if judged.isEmpty { return [rules.isEmpty ? "there are none, so that nothing goes out" : "not considered"] }
    let texts = judged.map { "\($0.rule + 1)  \(what(rules[$0.rule]))" }
    let width = min(texts.map(\.count).max() ?? 0, 44)
    var lines: [String] = []
    for (verdict, text) in zip(judged, texts) {
      let rule = rules[verdict.rule]
      let outcome = why(verdict.outcome, rule)
      lines.append(
        verdict.outcome == .won
          ? terminal.bold("\(text.padded(to: width))  \(outcome)") : "\(text.padded(to: width))  \(outcome)")
      if verdict.outcome == .won, let description = rule.description { lines.append("   \"\(description.harmless)\"") }
    }
    return lines
  }

  private func what(_ rule: Rule) -> String {
    let methods = rule.methods.names.isEmpty ? "" : " " + rule.methods.names.joined(separator: ",")
    switch rule.action {
    case .deny: return "\(rule.pattern.text)\(methods) deny"
    case .forward: return "\(rule.pattern.text)\(methods)"
    }
  }

  private func why(_ outcome: RuleVerdict.Outcome, _ rule: Rule) -> String {
    switch outcome {
    case .won: "decides (line \(rule.line))"
    case .methodDiffers: "another method"
    case .pathDiffers: "another path"
    case .notReached: "not reached"
    }
  }
}
