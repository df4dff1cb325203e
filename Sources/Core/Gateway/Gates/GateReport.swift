package import Policy

/// The state of one gate, as `explain` shows it.
package struct GateReport: Sendable {
  package let gate: RequestGate
  package let fact: GateFact
  /// Numbers that explain the state, whether the gate is open or closed. `nil` if the gate has none.
  package let numbers: Numbers?

  package enum Numbers: Sendable {
    /// The number of rejections in a row, and the milliseconds until one request may test the credential.
    case suspension(rejections: Int, wait: UInt64)
    /// The number of requests that the caller has left, and the milliseconds until the next one.
    case rate(left: UInt64, wait: UInt64)
  }

  package init(_ gate: RequestGate, _ fact: GateFact, _ numbers: Numbers? = nil) {
    self.gate = gate
    self.fact = fact
    self.numbers = numbers
  }
}

/// The state of all gates for a request that is not sent, and the expected outcome.
package struct GateReports: Sendable {
  private let gates: RequestGates
  private let reports: [RequestGate: GateReport]

  /// - Parameter report: called for each gate that applies. Not called if the rules refuse the request.
  package init(_ explanation: Explanation, _ report: (RequestGate, Route) -> GateReport) {
    gates = RequestGates(hasCredential: explanation.grant != nil, isRetry: false)
    var reports: [RequestGate: GateReport] = [:]
    if explanation.refusal == nil, let route = explanation.route {
      for gate in RequestGate.allCases where !gate.isOfCredential || explanation.grant != nil {
        reports[gate] = report(gate, route)
      }
    }
    self.reports = reports
  }

  package var all: [GateReport] { RequestGate.allCases.compactMap { reports[$0] } }

  /// The code of the first closed gate. `nil` if the request would be sent, possibly after a wait.
  package var refusal: RefusalCode? {
    guard case .refused(_, let obstacle) = gates.verdict(Facts(reports: reports)) else { return nil }
    return obstacle.refusal.code
  }

  private struct Facts: GateFacts {
    let reports: [RequestGate: GateReport]

    private func fact(_ gate: RequestGate) -> GateFact {
      if case .closed(let obstacle)? = reports[gate]?.fact { .closed(obstacle) } else { .open }
    }
    func audit() -> GateFact { fact(.audit) }
    func concurrency() -> GateFact { fact(.concurrency) }
    func login() -> GateFact { fact(.login) }
    func value() -> GateFact { fact(.value) }
    func token() -> GateFact { fact(.token) }
    func secret() -> GateFact { fact(.secret) }
    func suspension() -> GateFact { fact(.suspension) }
    func rate() -> GateFact { fact(.rate) }
  }

  /// The gates whose state only a running daemon knows.
  package var unknown: [RequestGate] { all.filter { if case .unknown = $0.fact { true } else { false } }.map(\.gate) }
}
