struct Attack: Sendable {
  /// Number of the threat in docs/security/threats.md.
  let id: Int
  let title: String
  let run: @Sendable (SelftestStage) throws -> Outcome

  init(_ id: Int, _ title: String, _ play: @escaping @Sendable (SelftestStage) throws -> Outcome) {
    self.id = id
    self.title = title
    self.run = play
  }
}

enum Outcome {
  /// The attack did no harm. The value is a summary.
  case passed(String)
  case failed([Finding])
  /// The attack does not apply to this configuration, for this reason.
  case notApplicable(String)

  var isFailure: Bool {
    switch self {
    case .failed: true
    case .passed, .notApplicable: false
    }
  }
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

  func outcome(_ summary: String) -> Outcome { findings.isEmpty ? .passed(summary) : .failed(findings) }
}
