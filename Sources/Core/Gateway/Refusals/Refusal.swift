package import HTTP1
package import Policy

/// An error response that bearerd generates: its code, and the details of this case.
package enum Refusal: Error, Equatable, Sendable {
  case malformed(MessageError.Reason)
  case policy(PolicyRefusal)
  case plain(RefusalCode)

  case rateLimited(RateExcess)
  /// The credential has no token. The values are the milliseconds until a retry makes sense, and the reason.
  case tokenUnavailable(UInt64, TokenFailure = .noToken)
  /// The credential is suspended. The value is the milliseconds until a retry makes sense. `nil` if a user must
  /// replace the secret.
  case credentialSuspended(UInt64?)
}

package struct RateExcess: Equatable, Sendable {
  package let rate: Rate
  /// Index of the rule with the rate. `nil` if the service has the rate.
  package let rule: Int?
  /// Milliseconds until the next request is possible.
  package let wait: UInt64

  package init(_ rate: Rate, rule: Int?, wait: UInt64) {
    self.rate = rate
    self.rule = rule
    self.wait = wait
  }
}

extension Refusal {
  package var row: RefusalRow { code.row }

  package var code: RefusalCode {
    switch self {
    case .malformed(let reason): Refusal.code(ofMalformed: reason)
    case .policy(let refusal): refusal.code
    case .plain(let code): code
    case .rateLimited: .rateLimited
    case .tokenUnavailable: .tokenUnavailable
    case .credentialSuspended: .credentialSuspended
    }
  }

  private static func code(ofMalformed reason: MessageError.Reason) -> RefusalCode {
    if reason == .fragmentInTarget { return .fragment }
    if reason == .forbiddenInTarget { return .forbiddenCharacter }
    return switch MessageError(reason).status {
    case 414: .targetTooLong
    case 431: .headTooLarge
    case 505: .versionNotSupported
    case 501: .unknownTransferCoding
    case 417: .unknownExpectation
    default: .malformedRequest
    }
  }
}

extension PolicyRefusal {
  package var code: RefusalCode {
    switch self {
    case .callerUnknown: .callerUnknown
    case .callerNotAllowed, .callerNotAllowedHere, .callerNotGranted: .callerNotAllowed
    case .clientTokenMissing, .clientTokenMalformed, .clientTokenUnknown: .clientUnknown
    case .clientNotAllowedHere, .clientNotGranted: .clientNotAllowed
    case .hostNotAllowed: .hostNotAllowed
    case .authorityMismatch: .authorityMismatch
    case .originNotAllowed: .originNotAllowed
    case .crossSite: .crossSite
    case .siteUnknown: .siteUnknown
    case .methodNotSupported: .methodNotSupported
    case .badPath: .badPath
    case .dotSegment: .dotSegment
    case .forbiddenCharacter: .forbiddenCharacter
    case .badEscape: .badEscape
    case .fragment: .fragment
    case .ambiguousPath: .ambiguousPath
    case .noService: .noService
    case .noRule: .noRule
    case .denied: .denied
    }
  }
}

/// The reason why there is no token. The raw value is the member `reason` in the response body.
package enum TokenFailure: String, Sendable {
  case noToken = "no-token"
  /// The new refresh token could not be stored.
  case notStored = "not-stored"
  /// Too many tokens were requested within a short time.
  case storm = "token-storm"
}
