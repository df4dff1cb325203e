import Gateway
import Policy
import Testing

/// The gates between the rules and the upstream, which the daemon and `explain` use.
@Suite struct GateStatesTests {
  private static let obstacles: [RequestGate: GateObstacle] = [
    .audit: .unrecorded("full"), .concurrency: .tooManyRequests, .login: .loggedOut(nil),
    .token: .noToken(.tokenUnavailable(5), "down"), .secret: .noSecret(nil),
    .suspension: .suspended(7, isTesting: false, changesByItself: true),
    .rate: .rateExceeded(RateExcess(Rate(requests: 1, per: .second), rule: nil, wait: 9)),
  ]

  /// Returns states in which these gates are closed or, as for `value`, awaited. The others are open.
  private func states(closed: some Sequence<RequestGate>, hasCredential: Bool = true) -> GateStates {
    var states = GateStates(hasCredential: hasCredential)
    for gate in closed { states[gate] = Self.obstacles[gate].map { .closed($0, nil) } ?? .awaited }
    return states
  }

  private func gate(_ verdict: GateVerdict) -> RequestGate? {
    switch verdict {
    case .passed: nil
    case .awaited(let gate), .refused(let gate, _): gate
    }
  }

  @Test(arguments: RequestGate.allCases)
  func `T8, T41, T54, T58: the first gate that is not open decides`(gate: RequestGate) {
    let verdict = states(closed: RequestGate.allCases.drop { $0 != gate }).verdict()
    switch (verdict, Self.obstacles[gate]) {
    case (.awaited(let awaited), nil): #expect(awaited == gate && gate == .value)
    case (.refused(let refused, let reason), let obstacle?): #expect(refused == gate && reason == obstacle)
    default: Issue.record("\(verdict)")
    }
  }

  @Test func `open and unknown gates let a request pass`() {
    for state in [GateState.open, .unknown, .limited(.rate(left: 1, wait: 0))] {
      var states = GateStates(hasCredential: true)
      for gate in RequestGate.allCases { states[gate] = state }
      #expect(gate(states.verdict()) == nil && states.obstacle == nil)
    }
  }

  @Test func `requests without a credential skip its gates, and retries skip the audit gate`() {
    let all = states(closed: RequestGate.allCases, hasCredential: false)
    #expect(gate(all.verdict()) == .audit && gate(all.verdict(isRetry: true)) == .concurrency)
    #expect(gate(states(closed: RequestGate.allCases.filter(\.isOfCredential), hasCredential: false).verdict()) == nil)
    #expect(all.all.map(\.gate) == [.audit, .concurrency, .rate])
  }

  @Test func `after a wait that ends well, the next closed gate is the obstacle`() {
    #expect(states(closed: [.value]).obstacle == nil)
    #expect(states(closed: [.value, .rate]).obstacle == Self.obstacles[.rate])
  }

  @Test func `unknown gates are named in order`() {
    var states = GateStates(hasCredential: true)
    (states[.rate], states[.login]) = (.unknown, .unknown)
    #expect(states.unknown == [.login, .rate])
  }

  @Test func `T67: a suspended secret from a file has no retry time, unless a request is probing it`() {
    func wait(_ isTried: Bool, _ changes: Bool) -> Refusal {
      GateObstacle.suspended(7, isTesting: isTried, changesByItself: changes).refusal
    }
    #expect(wait(false, false) == .credentialSuspended(nil))
    #expect(wait(true, false) == .credentialSuspended(7) && wait(false, true) == .credentialSuspended(7))
  }
}
