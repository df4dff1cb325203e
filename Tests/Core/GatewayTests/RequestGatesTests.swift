import Gateway
import Policy
import Testing

/// The gates between the rules and the upstream, as the daemon and `explain` ask them.
@Suite struct RequestGatesTests {
  private static let obstacles: [RequestGate: GateObstacle] = [
    .audit: .unrecorded("full"), .concurrency: .tooManyRequests, .login: .loggedOut(nil),
    .token: .noToken(.tokenUnavailable(5), "down"), .secret: .noSecret(nil),
    .suspension: .suspended(7, isTried: false, changesByItself: true),
    .rate: .rateExceeded(RateExcess(Rate(requests: 1, per: .second), rule: nil, wait: 9)),
  ]

  /// Writes down what it is asked.
  private final class Facts: GateFacts {
    private(set) var asked: [RequestGate] = []
    private let gate: RequestGate?
    private let fact: GateFact

    /// - Parameter fact: of that gate; all others are open.
    init(_ gate: RequestGate?, _ fact: GateFact) { (self.gate, self.fact) = (gate, fact) }

    private func ask(_ gate: RequestGate) -> GateFact {
      asked.append(gate)
      return gate == self.gate ? fact : .open
    }
    func audit() -> GateFact { ask(.audit) }
    func concurrency() -> GateFact { ask(.concurrency) }
    func login() -> GateFact { ask(.login) }
    func value() -> GateFact { ask(.value) }
    func token() -> GateFact { ask(.token) }
    func secret() -> GateFact { ask(.secret) }
    func suspension() -> GateFact { ask(.suspension) }
    func rate() -> GateFact { ask(.rate) }
  }

  /// The gates that are asked, if the one that is named says so.
  private func asked(_ gates: RequestGates, _ gate: RequestGate?, _ fact: GateFact) -> ([RequestGate], GateVerdict) {
    let facts = Facts(gate, fact)
    let verdict = gates.verdict(facts)
    return (facts.asked, verdict)
  }

  @Test(arguments: RequestGate.allCases)
  func `T8, T41, T54, T58: a closed gate refuses, and none behind it is asked`(gate: RequestGate) throws {
    guard let obstacle = Self.obstacles[gate] else { return }
    let (asked, verdict) = asked(RequestGates(hasCredential: true, isRetry: false), gate, .closed(obstacle))
    #expect(asked == Array(RequestGate.allCases.prefix { $0 != gate }) + [gate])
    guard case .refused(let refused, let reason) = verdict else {
      Issue.record("\(verdict)")
      return
    }
    #expect(refused == gate && reason == obstacle)
  }

  @Test func `a value that is on its way is waited for, and no gate behind it is asked`() {
    let (asked, verdict) = asked(RequestGates(hasCredential: true, isRetry: false), .value, .awaited)
    #expect(asked == [.audit, .concurrency, .login, .value])
    if case .awaited(.value) = verdict {} else { Issue.record("\(verdict)") }
  }

  @Test func `open and unknown gates let a request pass, each asked once in order`() {
    for fact in [GateFact.open, .unknown] {
      let (asked, verdict) = asked(RequestGates(hasCredential: true, isRetry: false), .suspension, fact)
      #expect(asked == RequestGate.allCases)
      if case .passed = verdict {} else { Issue.record("\(verdict)") }
    }
  }

  @Test func `a request without a credential has no gate of one, and a retry is recorded already`() {
    #expect(asked(RequestGates(hasCredential: false, isRetry: false), nil, .open).0 == [.audit, .concurrency, .rate])
    #expect(asked(RequestGates(hasCredential: false, isRetry: true), nil, .open).0 == [.concurrency, .rate])
  }

  @Test func `T67: a suspended secret of a file names no time to come again, unless one request tries it`() {
    func wait(_ isTried: Bool, _ changes: Bool) -> Refusal {
      GateObstacle.suspended(7, isTried: isTried, changesByItself: changes).refusal
    }
    #expect(wait(false, false) == .credentialSuspended(nil))
    #expect(wait(true, false) == .credentialSuspended(7) && wait(false, true) == .credentialSuspended(7))
  }
}
