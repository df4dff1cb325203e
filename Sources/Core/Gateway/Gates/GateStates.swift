/// The state of one gate.
package enum GateState: Sendable {
  case open
  /// Open, with numbers that `explain` shows.
  indirect case limited(GateNumbers)
  /// Only a running daemon knows the state.
  case unknown
  /// The request has to wait. Then the gates are read again.
  case awaited
  /// - `numbers`: for `explain`. `nil` if the gate has none, or if a running request was refused.
  indirect case closed(GateObstacle, GateNumbers?)
}

/// Numbers that explain the state of a gate, whether it is open or closed.
package enum GateNumbers: Equatable, Sendable {
  /// The number of rejections in a row, and the milliseconds until one request may test the credential.
  case suspension(rejections: Int, wait: UInt64)
  /// The number of requests that the caller has left, and the milliseconds until the next one.
  case rate(left: UInt64, wait: UInt64)
}

package enum GateVerdict: Sendable {
  case passed
  case awaited(RequestGate)
  case refused(RequestGate, GateObstacle)
}

/// The states of all gates for one request, at one moment. A gate whose state is not set is open.
package struct GateStates: Sendable {
  /// Whether the request gets a credential. Otherwise the gates of credentials do not apply.
  package let hasCredential: Bool
  /// The gates that are not simply open. Usually empty.
  private var exceptions: [(gate: RequestGate, state: GateState)] = []

  package init(hasCredential: Bool) { self.hasCredential = hasCredential }

  package subscript(_ gate: RequestGate) -> GateState {
    get { exceptions.first { $0.gate == gate }?.state ?? .open }
    set {
      if case .open = newValue, exceptions.isEmpty { return }
      exceptions.removeAll { $0.gate == gate }
      if case .open = newValue { return }
      exceptions.append((gate, newValue))
    }
  }

  /// Returns the first obstacle, or the first wait, in the order of `RequestGate`.
  /// - Parameter isRetry: the request was sent before, so its audit record is already promised.
  package func verdict(isRetry: Bool = false) -> GateVerdict {
    exceptions.isEmpty ? .passed : firstObstacle(isRetry: isRetry)
  }

  private func firstObstacle(isRetry: Bool) -> GateVerdict {
    for gate in RequestGate.allCases where hasCredential || !gate.isOfCredential {
      if gate == .audit, isRetry { continue }
      if let end = end(gate, self[gate]) { return end }
    }
    return .passed
  }

  private func end(_ gate: RequestGate, _ state: GateState) -> GateVerdict? {
    switch state {
    case .open, .limited, .unknown: nil
    case .awaited: .awaited(gate)
    case .closed(let obstacle, _): .refused(gate, obstacle)
    }
  }
}

// For `explain` and discovery, which do not wait.
extension GateStates {
  /// The obstacle that the request meets after all waits, if they end well. `nil` if there is none.
  package var obstacle: GateObstacle? {
    var states = self
    if case .awaited = self[.value] { states[.value] = .open }
    guard case .refused(_, let obstacle) = states.verdict() else { return nil }
    return obstacle
  }

  /// The gates that apply to the request, with their states.
  package var all: [(gate: RequestGate, state: GateState)] {
    RequestGate.allCases.filter { hasCredential || !$0.isOfCredential }.map { ($0, self[$0]) }
  }

  /// The gates whose state only a running daemon knows.
  package var unknown: [RequestGate] { all.filter { if case .unknown = $0.state { true } else { false } }.map(\.gate) }
}
