package import HTTP1
package import Policy

/// Every answer of our own, in one table: what a client is told when bearerd, and not the upstream, says no.
///
/// Texts are fixed: nothing that a request, an upstream or a file contains ever gets into one.
package enum Refusal: Error, Equatable, Sendable {
  case malformed(MessageError.Reason)
  case policy(PolicyRefusal)

  // the request, seen as a whole
  case reservedFieldInConnection
  case clientCredentialField
  case badDestination
  case destinationDenied
  case formTooLarge
  case requestTimeout
  case draining
  case auditUnavailable

  // the caller has all that one may have
  case tooManyConnections
  case tooManyRequests

  /// The caller has asked as often as a rate allows.
  case rateLimited(RateExcess)

  // the credential
  case credentialUnavailable
  /// Its token endpoint gave none. Milliseconds until it is worth asking again.
  case tokenUnavailable(UInt64, TokenTrouble = .noToken)
  /// Its token endpoint takes what we have no more, or somebody has logged it out.
  case loginRequired
  /// Somebody logged it out while the upstream had the request.
  case loggedOut
  /// Milliseconds until it is worth asking again; nil: a person has to put another secret in its place.
  case credentialSuspended(UInt64?)
  case grantDenied

  // the way to the upstream
  case nameNotFound
  case nameLookupFailed
  case nameTimeout
  case addressForbidden
  case connectionRefused
  case connectionFailed
  case connectionTimeout
  case handshakeTimeout
  case handshakeFailed
  case certificateInvalid
  case certificateExpired
  case hostnameMismatch
  case pinMismatch
  case pinsExpired
  case internalError

  // the upstream's answer
  case upstreamClosed
  case upstreamMalformed
  case upstreamTimeout
  case credentialRejected
  case encodedAnswer
  case redirectToSelf
  case unrequestedUpgrade
  case tooManyInformational
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
    case .reservedFieldInConnection: .reservedFieldInConnection
    case .clientCredentialField: .clientCredentialField
    case .badDestination: .badDestination
    case .destinationDenied: .destinationDenied
    case .formTooLarge: .formTooLarge
    case .requestTimeout: .requestTimeout
    case .draining: .draining
    case .auditUnavailable: .auditUnavailable
    case .tooManyConnections: .tooManyConnections
    case .tooManyRequests: .tooManyRequests
    case .rateLimited: .rateLimited
    case .credentialUnavailable: .credentialUnavailable
    case .tokenUnavailable: .tokenUnavailable
    case .loginRequired: .loginRequired
    case .loggedOut: .loggedOut
    case .credentialSuspended: .credentialSuspended
    case .grantDenied: .grantDenied
    case .nameNotFound: .nameNotFound
    case .nameLookupFailed: .nameLookupFailed
    case .nameTimeout: .nameTimeout
    case .addressForbidden: .addressForbidden
    case .connectionRefused: .connectionRefused
    case .connectionFailed: .connectionFailed
    case .connectionTimeout: .connectionTimeout
    case .handshakeTimeout: .handshakeTimeout
    case .handshakeFailed: .handshakeFailed
    case .certificateInvalid: .certificateInvalid
    case .certificateExpired: .certificateExpired
    case .hostnameMismatch: .hostnameMismatch
    case .pinMismatch: .pinMismatch
    case .pinsExpired: .pinsExpired
    case .internalError: .internalError
    case .upstreamClosed: .upstreamClosed
    case .upstreamMalformed: .upstreamMalformed
    case .upstreamTimeout: .upstreamTimeout
    case .credentialRejected: .credentialRejected
    case .encodedAnswer: .encodedAnswer
    case .redirectToSelf: .redirectToSelf
    case .unrequestedUpgrade: .unrequestedUpgrade
    case .tooManyInformational: .tooManyInformational
    }
  }

  /// What is wrong with a target has the same code whoever finds it.
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
