/// One attack of the self-test, known by the number of its threat in docs/security/threats.md.
struct Attack: Sendable {
  let id: Int
  let title: String
  let play: @Sendable (SelftestStage) throws -> Outcome

  init(_ id: Int, _ title: String, _ play: @escaping @Sendable (SelftestStage) throws -> Outcome) {
    self.id = id
    self.title = title
    self.play = play
  }
}

/// The outcome of an attack.
enum Outcome {
  /// The attack did no harm; with what was tried, in a few words.
  case passed(String)
  case failed([Finding])
  /// Why it does not concern this configuration, or cannot be played here.
  case notApplicable(String)

  var isFailure: Bool {
    switch self {
    case .failed: true
    case .passed, .notApplicable: false
    }
  }
}

/// Something that was not as it has to be.
struct Finding {
  let tried: String
  let seen: String
  let expected: String
}

/// Counts what is tried, and keeps what went wrong.
struct AttackTally {
  private(set) var tried = 0
  private(set) var findings: [Finding] = []
  /// Refused by bearerd, or by an upstream that was not reached.
  var refused = 0
  var passed = 0

  mutating func check(_ isRight: Bool, _ tried: String, seen: @autoclosure () -> String, expected: String) {
    self.tried += 1
    if !isRight { findings.append(Finding(tried: tried, seen: seen(), expected: expected)) }
  }

  func outcome(_ summary: String) -> Outcome { findings.isEmpty ? .passed(summary) : .failed(findings) }
}
