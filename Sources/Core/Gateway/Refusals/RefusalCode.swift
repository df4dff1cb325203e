/// What a client is told when bearerd, and not the upstream, says no: one for each `type`, grouped by who refused.
///
/// The raw values are places in arrays of counters, not stable from build to build; the names in `row` are.
package enum RefusalCode: UInt8, CaseIterable, Sendable {
  // the HTTP parser
  case malformedRequest
  case reservedFieldInConnection
  case requestTimeout
  case targetTooLong
  case unknownExpectation
  case headTooLarge
  case unknownTransferCoding
  case versionNotSupported

  // admission
  case callerNotAllowed
  case callerUnknown
  case clientUnknown
  case clientNotAllowed
  case originNotAllowed
  case crossSite
  case siteUnknown
  case methodNotSupported
  case hostNotAllowed
  case authorityMismatch
  case tooManyConnections
  case tooManyRequests

  // the rules
  case badPath
  case badEscape
  case dotSegment
  case forbiddenCharacter
  case fragment
  case ambiguousPath
  case clientCredentialField
  case badDestination
  case destinationDenied
  case noRule
  case denied
  case noService
  case rateLimited
  case formTooLarge

  // the keyring
  case credentialUnavailable
  case tokenUnavailable
  case loginRequired
  case loggedOut
  case credentialSuspended
  case grantDenied

  // the way to the upstream
  case nameNotFound
  case nameLookupFailed
  case nameTimeout
  case addressForbidden
  case connectionRefused
  case connectionFailed
  case connectionTimeout
  case handshakeFailed
  case handshakeTimeout
  case certificateInvalid
  case certificateExpired
  case hostnameMismatch
  case pinMismatch
  case pinsExpired

  // the upstream's answer
  case upstreamClosed
  case upstreamMalformed
  case upstreamTimeout
  case credentialRejected
  case encodedAnswer
  case redirectToSelf
  case unrequestedUpgrade
  case tooManyInformational

  // bearerd itself
  case draining
  case auditUnavailable
  case internalError
}

extension RefusalCode {
  /// The code that ends a `type`; nil: there is no such one.
  package init?(named name: String) {
    guard let found = RefusalCode.allCases.first(where: { $0.row.code.description == name }) else { return nil }
    self = found
  }
}

/// Who said no.
package enum Refuser: CaseIterable, Sendable {
  case parser, admission, rules, keyring, routeContext, answer, bearerd
}

extension RefusalCode {
  package var refuser: Refuser {
    switch self {
    case .malformedRequest, .reservedFieldInConnection, .requestTimeout, .targetTooLong, .unknownExpectation,
      .headTooLarge, .unknownTransferCoding, .versionNotSupported:
      .parser
    case .callerNotAllowed, .callerUnknown, .clientUnknown, .clientNotAllowed, .originNotAllowed, .crossSite,
      .siteUnknown, .methodNotSupported, .hostNotAllowed, .authorityMismatch, .tooManyConnections, .tooManyRequests:
      .admission
    case .badPath, .badEscape, .dotSegment, .forbiddenCharacter, .fragment, .ambiguousPath, .clientCredentialField,
      .badDestination, .destinationDenied, .noRule, .denied, .noService, .rateLimited, .formTooLarge:
      .rules
    case .credentialUnavailable, .tokenUnavailable, .loginRequired, .loggedOut, .credentialSuspended, .grantDenied:
      .keyring
    case .nameNotFound, .nameLookupFailed, .nameTimeout, .addressForbidden, .connectionRefused, .connectionFailed,
      .connectionTimeout, .handshakeFailed, .handshakeTimeout, .certificateInvalid, .certificateExpired,
      .hostnameMismatch, .pinMismatch,
      .pinsExpired:
      .routeContext
    case .upstreamClosed, .upstreamMalformed, .upstreamTimeout, .credentialRejected, .encodedAnswer, .redirectToSelf,
      .unrequestedUpgrade, .tooManyInformational:
      .answer
    case .draining, .auditUnavailable, .internalError: .bearerd
    }
  }
}
