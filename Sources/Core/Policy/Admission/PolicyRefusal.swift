/// Every "no" of policy. Gateway's table gives each its status, type and words.
package enum PolicyRefusal: Error, Sendable, Equatable {
  // admission
  case callerUnknown
  case callerNotAllowed(uid: UInt32)
  /// No client token came, and this listener wants one.
  case clientTokenMissing
  /// Something came where a program puts its key, and it does not look like a client token.
  case clientTokenMalformed
  /// A token came that is no client's.
  case clientTokenUnknown
  case hostNotAllowed
  case authorityMismatch
  case originNotAllowed
  case crossSite
  /// A browser's, it seems, by a name to which browsers do not say where a request comes from.
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
  /// `uid` is nil for who came over a network.
  case callerNotAllowedHere(service: Int, uid: UInt32?)
  case clientNotAllowedHere(service: Int)
  /// The credential that the rule asks for is not granted to this user.
  case callerNotGranted(service: Int, grant: Int, uid: UInt32?)
  case clientNotGranted(service: Int, grant: Int)

  /// The service that the request came to, and the rule that decided it, as far as the refusal knows them.
  package var place: (service: Int, rule: Int?)? {
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

  /// Whether all that was missing is a client token that is known.
  package var isOfClientToken: Bool {
    self == .clientTokenMissing || self == .clientTokenMalformed || self == .clientTokenUnknown
  }

  /// Whether admission had found the user, `Host` and the page right before it said this.
  package var isOfKnownPage: Bool {
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
