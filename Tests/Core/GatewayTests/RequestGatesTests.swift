import Gateway
import Policy
import Testing

/// The gates between the rules and the upstream, which the daemon and `explain` use.
@Suite struct RequestGatesTests {
  private static let obstacles: [RequestGate: GateObstacle] = [
    .audit: .unrecorded("full"), .concurrency: .tooManyRequests, .login: .loggedOut(nil),
    .token: .noToken(.tokenUnavailable(5), "down"), .secret: .noSecret(nil),
    .suspension: .suspended(7, isTesting: false, changesByItself: true),
    .rate: .rateExceeded(RateExcess(Rate(requests: 1, per: .second), rule: nil, wait: 9)),
  ]

  /// Records the gates that were asked.
  private final class Facts: GateFacts {
    private(set) var asked: [RequestGate] = []
    private let gate: RequestGate?
    private let fact: GateFact

    /// - Parameter fact: the state of `gate`. All other gates are open.
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

  /// Returns the gates that were asked, and the verdict, if `gate` has this state.
  private func asked(_ gates: RequestGates, _ gate: RequestGate?, _ fact: GateFact) -> ([RequestGate], GateVerdict) {
    let facts = Facts(gate, fact)
    let verdict = gates.verdict(facts)
    return (facts.asked, verdict)
  }

  @Test(arguments: RequestGate.allCases)
  func `T8, T41, T54, T58: a closed gate refuses the request, and later gates are not asked`(gate: RequestGate) throws {
    guard let obstacle = Self.obstacles[gate] else { return }
    let (asked, verdict) = asked(RequestGates(hasCredential: true, isRetry: false), gate, .closed(obstacle))
    #expect(asked == Array(RequestGate.allCases.prefix { $0 != gate }) + [gate])
    guard case .refused(let refused, let reason) = verdict else {
      Issue.record("\(verdict)")
      return
    }
    #expect(refused == gate && reason == obstacle)
  }

  @Test func `a request waits for a pending value, and later gates are not asked`() {
    let (asked, verdict) = asked(RequestGates(hasCredential: true, isRetry: false), .value, .awaited)
    #expect(asked == [.audit, .concurrency, .login, .value])
    if case .awaited(.value) = verdict {} else { Issue.record("\(verdict)") }
  }

  @Test func `open and unknown gates let a request pass, and each gate is asked once in order`() {
    for fact in [GateFact.open, .unknown] {
      let (asked, verdict) = asked(RequestGates(hasCredential: true, isRetry: false), .suspension, fact)
      #expect(asked == RequestGate.allCases)
      if case .passed = verdict {} else { Issue.record("\(verdict)") }
    }
  }

  @Test func `requests without a credential skip its gates, and retries skip the audit gate`() {
    #expect(asked(RequestGates(hasCredential: false, isRetry: false), nil, .open).0 == [.audit, .concurrency, .rate])
    #expect(asked(RequestGates(hasCredential: false, isRetry: true), nil, .open).0 == [.concurrency, .rate])
  }

  @Test func `T67: a suspended secret from a file has no retry time, unless a request is probing it`() {
    func wait(_ isTried: Bool, _ changes: Bool) -> Refusal {
      GateObstacle.suspended(7, isTesting: isTried, changesByItself: changes).refusal
    }
    #expect(wait(false, false) == .credentialSuspended(nil))
    #expect(wait(true, false) == .credentialSuspended(7) && wait(false, true) == .credentialSuspended(7))
  }
}
