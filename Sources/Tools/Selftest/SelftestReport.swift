internal import Console
internal import Primitives
internal import System

struct SelftestReport {
  let isJSON: Bool
  let terminal: Terminal

  func begin(_ stage: SelftestStage, file: String) {
    guard !isJSON else { return }
    let names = stage.targets.map(\.name).joined(separator: ", ")
    let rest = stage.unreachable
    let missing =
      rest.isEmpty ? "" : " Not attacked, because no request gets through there: \(rest.joined(separator: ", "))."
    let replaced =
      "Upstreams, keys, secrets, addresses and users are created for this test. suspend, rates and revocation are off, "
      + "except in the attacks that test them. Everything else is from your configuration."
    say(
      """
      \(terminal.bold("Attacks on bearerd with the configuration of \(file)"))

      \(wrapped("Attacked: \(names). \(replaced)\(missing)"))


      """)
  }

  func begin(_ section: AttackSet.Section, isFirst: Bool) {
    guard !isJSON else { return }
    say("\(isFirst ? "" : "\n")\(terminal.bold(section.title))\n")
  }

  /// Runs the attack, and prints its title and outcome except for JSON output.
  func run(_ attack: Attack, on stage: SelftestStage) throws -> Outcome {
    guard !isJSON else { return try attack.run(stage) }
    say("  \("T\(attack.id)".padded(to: 4)) \(attack.title.padded(to: 39)) ")
    do {
      let outcome = try attack.run(stage)
      show(outcome)
      return outcome
    } catch {
      say("\n")
      throw error
    }
  }

  private func show(_ outcome: Outcome) {
    switch outcome {
    case .passed(let summary): say("\(terminal.good("pass"))  \(terminal.dim(summary))\n")
    case .notApplicable(let reason): say("\(terminal.dim("-     not applicable: \(reason)"))\n")
    case .failed(let findings):
      say("\(terminal.bad("FAIL"))  \(counted(findings.count, "finding"))\n")
      for finding in findings.prefix(Self.mostFindings) {
        let text = "\(finding.tried): \(finding.seen); expected: \(finding.expected)"
        say("       \(text.harmless)\n")
      }
      if findings.count > Self.mostFindings { say("       and \(findings.count - Self.mostFindings) more\n") }
    }
  }

  func conclude(_ results: [(attack: Attack, outcome: Outcome)]) {
    guard !isJSON else { return say(document(results) + "\n") }
    let failed = results.filter(\.outcome.isFailure).map { "T\($0.attack.id)" }
    let passed = results.count { if case .passed = $0.outcome { true } else { false } }
    let rest = results.count - failed.count - passed
    let notes = rest == 0 ? "" : "; \(rest) not applicable"
    let verdict =
      failed.isEmpty
      ? "\(terminal.good("Nothing got through"))"
      : terminal.bad("\(counted(failed.count, "attack")) got through: \(failed.joined(separator: ", "))")
    say("\n\(verdict) (\(passed) of \(results.count) passed\(notes)).\n")
    if !failed.isEmpty { say("docs/security/threats.md explains each number.\n") }
  }

  private static let mostFindings = 5

  private func document(_ results: [(attack: Attack, outcome: Outcome)]) -> String {
    var writer = JSONWriter()
    writer.array { writer in
      for (attack, outcome) in results {
        writer.object { writer in
          writer.member("threat", "T\(attack.id)")
          writer.member("title", attack.title)
          switch outcome {
          case .passed(let summary):
            writer.member("outcome", "pass")
            writer.member("detail", summary)
          case .notApplicable(let reason):
            writer.member("outcome", "not applicable")
            writer.member("detail", reason)
          case .failed(let findings):
            writer.member("outcome", "fail")
            writer.array("findings") { writer in
              for finding in findings {
                writer.object { writer in
                  writer.member("tried", finding.tried)
                  writer.member("seen", finding.seen)
                  writer.member("expected", finding.expected)
                }
              }
            }
          }
        }
      }
    }
    return String(decoding: writer.bytes, as: UTF8.self)
  }

  private func say(_ text: String) { StandardOutput.print(text) }
}
