/// A condition for sending a request that the rules let go, in the order in which they are asked: nothing is reserved for a
/// request that an earlier gate refuses.
package enum RequestGate: String, CaseIterable, Sendable {
  /// The audit file can take a record of the request.
  case audit
  /// The caller has fewer requests under way than it may have.
  case concurrency
  /// The credential has not been logged out.
  case login
  /// No value of the credential is being read or fetched.
  case value
  /// The credential's token endpoint gives tokens.
  case token
  /// The credential has a value.
  case secret
  /// The upstream does not keep rejecting the credential.
  case suspension
  /// The caller's rate leaves a request.
  case rate

  /// Only a request that gets a credential has it.
  package var isOfCredential: Bool {
    switch self {
    case .audit, .concurrency, .rate: false
    case .login, .value, .token, .secret, .suspension: true
    }
  }
}

/// The state of one gate, as far as it is known.
package enum GateFact: Sendable {
  case open
  /// Only a running daemon knows.
  case unknown
  /// The request waits, and the gates are asked again.
  case awaited
  indirect case closed(GateObstacle)
}

/// Why a gate is closed.
package enum GateObstacle: Equatable, Sendable {
  /// No record can be written, for this reason.
  case unrecorded(String)
  case tooManyRequests
  /// The reason, if the credential has one to show.
  case loggedOut(String?)
  /// The refusal of the token's endpoint, and its reason.
  case noToken(Refusal, String)
  case noSecret(String?)
  /// Milliseconds until one request may try the credential. `isTried`: one is out. `changesByItself`: the credential may have
  /// another value by then without a person's doing.
  case suspended(UInt64, isTried: Bool, changesByItself: Bool)
  case rateExceeded(RateExcess)

  package var refusal: Refusal {
    switch self {
    case .unrecorded: .plain(.auditUnavailable)
    case .tooManyRequests: .plain(.tooManyRequests)
    case .loggedOut: .plain(.loginRequired)
    case .noToken(let refusal, _): refusal
    case .noSecret: .plain(.credentialUnavailable)
    case .suspended(let wait, let isTried, let changes): .credentialSuspended(isTried || changes ? wait : nil)
    case .rateExceeded(let excess): .rateLimited(excess)
    }
  }

  /// The reason that the log shows.
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

/// The outcome of a request at its gates.
package enum GateVerdict: Sendable {
  case passed
  case awaited(RequestGate)
  case refused(RequestGate, GateObstacle)
}

/// How each gate stands for one request. Asked in order, and of no gate behind the first one that is not open: an answer may
/// reserve what the request needs.
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

/// The gates of one request: the daemon asks them before it opens a connection, and `bearerctl explain` asks the same ones of
/// a running daemon, or of the configuration file alone.
package struct RequestGates: Sendable {
  private let hasCredential: Bool
  private let isRetry: Bool

  /// - Parameters:
  ///   - hasCredential: a credential is added to the request.
  ///   - isRetry: the request has been out before; its record is owed already.
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
