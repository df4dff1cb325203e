package import HTTP1
package import Policy

/// An answer of our own: a code of the table, and what is known of this one refusal beyond it.
package enum Refusal: Error, Equatable, Sendable {
  case malformed(MessageError.Reason)
  case policy(PolicyRefusal)
  /// A refusal whose code says all.
  case plain(RefusalCode)

  /// The caller has asked as often as a rate allows.
  case rateLimited(RateExcess)
  /// The credential's token endpoint gave none. Milliseconds until it is worth asking again.
  case tokenUnavailable(UInt64, TokenTrouble = .noToken)
  /// Milliseconds until it is worth asking again; nil: a person has to put another secret in its place.
  case credentialSuspended(UInt64?)
}

/// A request beyond a rate.
package struct RateExcess: Equatable, Sendable {
  package let rate: Rate
  /// Whose it is; nil: the service's.
  package let rule: Int?
  /// Milliseconds until there may be another.
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

  /// The code for a malformed target: the same one for every place that finds it.
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
  /// How the table calls this "no" of policy.
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

/// Why there is no token, as the problem's member `reason` names it.
package enum TokenTrouble: String, Sendable {
  /// The endpoint was asked, and gave none.
  case noToken = "no-token"
  /// The refresh token that came with it could not be written.
  case notStored = "not-stored"
  /// Too many were asked for within a short time.
  case storm = "token-storm"
}
