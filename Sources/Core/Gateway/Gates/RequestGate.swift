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

/// Why a gate is closed.
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
