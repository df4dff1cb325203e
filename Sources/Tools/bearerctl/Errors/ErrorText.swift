internal import Gateway

/// What `bearerctl errors` says of one code, beyond its row of the table. Markdown's backticks are the only markup.
struct ErrorText {
  /// What happened, in whole sentences.
  let what: String
  /// What to do about it.
  let todo: String

  init(_ what: String, todo: String) {
    self.what = what
    self.todo = todo
  }
}

extension RefusalCode {
  /// Every code has one: the compiler sees to that.
  var text: ErrorText {
    switch self {
    case .malformedRequest: .malformedRequest
    case .reservedFieldInConnection: .reservedFieldInConnection
    case .requestTimeout: .requestTimeout
    case .targetTooLong: .targetTooLong
    case .unknownExpectation: .unknownExpectation
    case .headTooLarge: .headTooLarge
    case .unknownTransferCoding: .unknownTransferCoding
    case .versionNotSupported: .versionNotSupported
    case .callerNotAllowed: .callerNotAllowed
    case .callerUnknown: .callerUnknown
    case .clientUnknown: .clientUnknown
    case .clientNotAllowed: .clientNotAllowed
    case .originNotAllowed: .originNotAllowed
    case .crossSite: .crossSite
    case .siteUnknown: .siteUnknown
    case .methodNotSupported: .methodNotSupported
    case .hostNotAllowed: .hostNotAllowed
    case .authorityMismatch: .authorityMismatch
    case .tooManyConnections: .tooManyConnections
    case .tooManyRequests: .tooManyRequests
    case .badPath: .badPath
    case .badEscape: .badEscape
    case .dotSegment: .dotSegment
    case .forbiddenCharacter: .forbiddenCharacter
    case .fragment: .fragment
    case .ambiguousPath: .ambiguousPath
    case .clientCredentialField: .clientCredentialField
    case .badDestination: .badDestination
    case .destinationDenied: .destinationDenied
    case .formTooLarge: .formTooLarge
    case .noRule: .noRule
    case .denied: .denied
    case .noService: .noService
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
    case .handshakeFailed: .handshakeFailed
    case .handshakeTimeout: .handshakeTimeout
    case .certificateInvalid: .certificateInvalid
    case .certificateExpired: .certificateExpired
    case .hostnameMismatch: .hostnameMismatch
    case .pinMismatch: .pinMismatch
    case .pinsExpired: .pinsExpired
    case .upstreamClosed: .upstreamClosed
    case .upstreamMalformed: .upstreamMalformed
    case .upstreamTimeout: .upstreamTimeout
    case .credentialRejected: .credentialRejected
    case .encodedAnswer: .encodedAnswer
    case .redirectToSelf: .redirectToSelf
    case .unrequestedUpgrade: .unrequestedUpgrade
    case .tooManyInformational: .tooManyInformational
    case .draining: .draining
    case .auditUnavailable: .auditUnavailable
    case .internalError: .internalError
    }
  }
}

extension Refuser {
  /// As a heading, and after "refused by".
  var title: String {
    switch self {
    case .parser: "the HTTP parser: the request is no clean HTTP/1.1"
    case .admission: "admission: this caller, or a request of this kind, may not ask"
    case .rules: "your rules: the request may not go out"
    case .keyring: "the keyring: there is nothing that may be added, and nothing was sent"
    case .routeContext: "bearerd on the way to the upstream: it did not get the request"
    case .answer: "bearerd, of the upstream's answer: it cannot be passed on"
    case .bearerd: "bearerd itself"
    }
  }
}
