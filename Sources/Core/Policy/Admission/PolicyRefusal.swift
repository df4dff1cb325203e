/// Why the policy refuses a request.
package enum PolicyRefusal: Error, Sendable, Equatable {
  // admission
  case callerUnknown
  case callerNotAllowed(uid: UInt32)
  case clientTokenMissing
  /// A field for credentials has a value that does not look like a client token.
  case clientTokenMalformed
  case clientTokenUnknown
  case hostNotAllowed
  case authorityMismatch
  case originNotAllowed
  case crossSite
  /// The request seems to come from a browser, but does not tell from which web page.
  case siteUnknown
  case methodNotSupported
  // target
  case badPath
  case dotSegment
  case forbiddenCharacter
  case badEscape
  case fragment
  case ambiguousPath
  // rules
  case noService
  case noRule(service: Int)
  case denied(service: Int, rule: Int)
  /// The service does not allow this user. `uid` is `nil` for a caller from a network.
  case callerNotAllowedHere(service: Int, uid: UInt32?)
  case clientNotAllowedHere(service: Int)
  case callerNotGranted(service: Int, grant: Int, uid: UInt32?)
  case clientNotGranted(service: Int, grant: Int)

  /// The request's service, and the rule that denied the request. `nil` if the refusal depends on no service.
  package var location: (service: Int, rule: Int?)? {
    switch self {
    case .noRule(let service), .callerNotAllowedHere(let service, _), .callerNotGranted(let service, _, _),
      .clientNotAllowedHere(let service), .clientNotGranted(let service, _):
      (service, nil)
    case .denied(let service, let rule): (service, rule)
    case .callerUnknown, .callerNotAllowed, .clientTokenMissing, .clientTokenMalformed, .clientTokenUnknown,
      .hostNotAllowed, .authorityMismatch, .originNotAllowed, .crossSite, .siteUnknown, .methodNotSupported, .badPath,
      .dotSegment, .forbiddenCharacter, .badEscape, .fragment, .ambiguousPath, .noService:
      nil
    }
  }

  package var isClientTokenFailure: Bool {
    self == .clientTokenMissing || self == .clientTokenMalformed || self == .clientTokenUnknown
  }

  /// Whether the request was refused only after its user, `Host` and web page were accepted.
  package var isAfterPageCheck: Bool {
    switch self {
    case .clientTokenMissing, .clientTokenMalformed, .clientTokenUnknown, .methodNotSupported: true
    case .callerUnknown, .callerNotAllowed, .hostNotAllowed, .authorityMismatch, .originNotAllowed, .crossSite,
      .siteUnknown, .badPath, .dotSegment, .forbiddenCharacter, .badEscape, .fragment, .ambiguousPath, .noService,
      .noRule, .denied,
      .callerNotAllowedHere, .clientNotAllowedHere, .callerNotGranted, .clientNotGranted:
      false
    }
  }
}
