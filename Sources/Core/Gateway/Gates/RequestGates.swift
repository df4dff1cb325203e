/// A condition for sending an allowed request. The gates are checked in this order.
package enum RequestGate: String, CaseIterable, Sendable {
  /// The audit file can store a record of the request.
  case audit
  /// The caller has fewer requests in progress than its limit.
  case concurrency
  /// The credential has not been logged out.
  case login
  /// The request does not have to wait until a new value of the credential is read or fetched.
  case value
  /// No failure prevents bearerd from getting the access token.
  case token
  /// The credential has a value.
  case secret
  /// The credential is not suspended.
  case suspension
  /// The caller's rate allows another request.
  case rate

  /// Whether the gate applies only to requests that get a credential.
  package var isOfCredential: Bool {
    switch self {
    case .audit, .concurrency, .rate: false
    case .login, .value, .token, .secret, .suspension: true
    }
  }
}

package enum GateFact: Sendable {
  case open
  /// Only a running daemon knows the state.
  case unknown
  /// The request waits, and the gates are checked again later.
  case awaited
  indirect case closed(GateObstacle)
}

package enum GateObstacle: Equatable, Sendable {
  /// No audit record can be written. The value is the error.
  case unrecorded(String)
  case tooManyRequests
  /// The credential was logged out. The value is the reason, if it is known.
  case loggedOut(String?)
  /// There is no access token. The values are the refusal and the reason.
  case noToken(Refusal, String)
  case noSecret(String?)
  /// The credential is suspended. The first value is the milliseconds until one request may test it.
  /// `changesByItself`: the value may change without a user's action.
  case suspended(UInt64, isTesting: Bool, changesByItself: Bool)
  case rateExceeded(RateExcess)

  package var refusal: Refusal {
    switch self {
    case .unrecorded: .plain(.auditUnavailable)
    case .tooManyRequests: .plain(.tooManyRequests)
    case .loggedOut: .plain(.loginRequired)
    case .noToken(let refusal, _): refusal
    case .noSecret: .plain(.credentialUnavailable)
    case .suspended(let wait, let isTesting, let changes): .credentialSuspended(isTesting || changes ? wait : nil)
    case .rateExceeded(let excess): .rateLimited(excess)
    }
  }

  /// The reason, for the log. Empty if the code of the refusal explains everything.
  package var detail: String {
    switch self {
    case .unrecorded(let problem), .noToken(_, let problem): problem
    case .loggedOut(let problem): problem ?? ""
    case .noSecret(let problem): problem ?? "the credential has no secret"
    case .suspended: "the upstream keeps rejecting the credential"
    case .tooManyRequests, .rateExceeded: ""
    }
  }
}

package enum GateVerdict: Sendable {
  case passed
  case awaited(RequestGate)
  case refused(RequestGate, GateObstacle)
}

/// Reports the state of each gate for one request. Some functions also reserve what the request needs.
package protocol GateFacts {
  func audit() -> GateFact
  func concurrency() -> GateFact
  func login() -> GateFact
  func value() -> GateFact
  func token() -> GateFact
  func secret() -> GateFact
  func suspension() -> GateFact
  func rate() -> GateFact
}

/// The gates of one request, in a running daemon or for `bearerctl explain`.
package struct RequestGates: Sendable {
  private let hasCredential: Bool
  private let isRetry: Bool

  /// - Parameters:
  ///   - hasCredential: a credential is added to the request.
  ///   - isRetry: the request was sent before, so the audit gate has already been passed.
  package init(hasCredential: Bool, isRetry: Bool) {
    self.hasCredential = hasCredential
    self.isRetry = isRetry
  }

  package func verdict(_ facts: some GateFacts) -> GateVerdict {
    if !isRetry, let end = end(.audit, facts.audit()) { return end }
    if let end = end(.concurrency, facts.concurrency()) { return end }
    if hasCredential {
      if let end = end(.login, facts.login()) { return end }
      if let end = end(.value, facts.value()) { return end }
      if let end = end(.token, facts.token()) { return end }
      if let end = end(.secret, facts.secret()) { return end }
      if let end = end(.suspension, facts.suspension()) { return end }
    }
    return end(.rate, facts.rate()) ?? .passed
  }

  func end(_ gate: RequestGate, _ fact: GateFact) -> GateVerdict? {
    switch fact {
    case .open, .unknown: nil
    case .awaited: .awaited(gate)
    case .closed(let obstacle): .refused(gate, obstacle)
    }
  }
}
