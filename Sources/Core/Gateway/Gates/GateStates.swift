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
  package var audit = GateState.open
  package var concurrency = GateState.open
  package var login = GateState.open
  package var value = GateState.open
  package var token = GateState.open
  package var secret = GateState.open
  package var suspension = GateState.open
  package var rate = GateState.open

  package init(hasCredential: Bool) { self.hasCredential = hasCredential }

  /// Returns the first obstacle, or the first wait, in the order of `RequestGate`.
  /// - Parameter isRetry: the request was sent before, so its audit record is already promised.
  package func verdict(isRetry: Bool = false) -> GateVerdict {
    if !isRetry, let end = end(.audit, audit) { return end }
    if let end = end(.concurrency, concurrency) { return end }
    if hasCredential {
      if let end = end(.login, login) { return end }
      if let end = end(.value, value) { return end }
      if let end = end(.token, token) { return end }
      if let end = end(.secret, secret) { return end }
      if let end = end(.suspension, suspension) { return end }
    }
    return end(.rate, rate) ?? .passed
  }

  @inline(__always)
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
    if case .awaited = value { states.value = .open }
    guard case .refused(_, let obstacle) = states.verdict() else { return nil }
    return obstacle
  }

  /// The gates that apply to the request, with their states.
  package var all: [(gate: RequestGate, state: GateState)] {
    RequestGate.allCases.filter { hasCredential || !$0.isOfCredential }.map { ($0, self[$0]) }
  }

  /// The gates whose state only a running daemon knows.
  package var unknown: [RequestGate] { all.filter { if case .unknown = $0.state { true } else { false } }.map(\.gate) }

  package subscript(_ gate: RequestGate) -> GateState {
    get {
      switch gate {
      case .audit: audit
      case .concurrency: concurrency
      case .login: login
      case .value: value
      case .token: token
      case .secret: secret
      case .suspension: suspension
      case .rate: rate
      }
    }
    set {
      switch gate {
      case .audit: audit = newValue
      case .concurrency: concurrency = newValue
      case .login: login = newValue
      case .value: value = newValue
      case .token: token = newValue
      case .secret: secret = newValue
      case .suspension: suspension = newValue
      case .rate: rate = newValue
      }
    }
  }
}
