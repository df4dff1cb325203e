struct Attack: Sendable {
  /// Number of the threat in docs/security/threats.md.
  let id: Int
  let title: String
  private let play: @Sendable (SelftestStage, inout AttackTally) throws -> Outcome

  /// - Parameter play: Runs what is not in the attack table. The tally already has the checks of the table.
  init(_ id: Int, _ title: String, _ play: @escaping @Sendable (SelftestStage, inout AttackTally) throws -> Outcome) {
    self.id = id
    self.title = title
    self.play = play
  }

  func run(_ stage: SelftestStage) throws -> Outcome {
    var tally = AttackTally()
    try stage.runTable(id, &tally)
    return try play(stage, &tally)
  }
}

enum Outcome {
  /// The attack did no harm. The value is a summary.
  case passed(String)
  case failed([Finding])
  /// The attack does not apply to this configuration, for this reason.
  case notApplicable(String)

  var isFailure: Bool { if case .failed = self { true } else { false } }
}

struct Finding {
  let tried: String
  let seen: String
  let expected: String
}

/// Counts the checks of an attack, and collects the failures.
struct AttackTally {
  private(set) var tried = 0
  private(set) var findings: [Finding] = []
  /// Number of requests and configurations that bearerd refused.
  var refused = 0
  /// Number of requests that reached the upstream as expected.
  var passed = 0

  mutating func check(_ isRight: Bool, _ tried: String, seen: @autoclosure () -> String, expected: String) {
    self.tried += 1
    if !isRight { findings.append(Finding(tried: tried, seen: seen(), expected: expected)) }
  }

  /// - Parameter reason: Why the attack does not apply if nothing was checked.
  func outcome(_ summary: String, ifUntried reason: String? = nil) -> Outcome {
    if tried == 0, let reason { return .notApplicable(reason) }
    return findings.isEmpty ? .passed(summary) : .failed(findings)
  }
}
